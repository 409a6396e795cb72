-- Each order of the list has an index that ends in the primary key (or is unique), so that a page and a snapshot
-- are read from it in order, forwards or backwards. SQLite keeps days as 2006-01-02 and times as 2006-01-02
-- 15:04:05.000000 in UTC, texts that sort as time does.
-- +goose Up
CREATE TABLE reservations (
    id INTEGER NOT NULL,
    code TEXT NOT NULL,
    property_id BIGINT NOT NULL,
    product_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    agent_id BIGINT NULL,
    company TEXT NULL,
    status TEXT NOT NULL,
    status_date date NOT NULL,
    booked_on date NOT NULL,
    check_in date NOT NULL,
    check_out date NOT NULL,
    nights INTEGER NOT NULL,
    memo TEXT NULL,
    updated_at datetime NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX reservations_one_code ON reservations (code);
CREATE INDEX reservations_by_status ON reservations (status, id);
CREATE INDEX reservations_by_status_date ON reservations (status_date, id);
CREATE INDEX reservations_by_booked_on ON reservations (booked_on, id);
CREATE INDEX reservations_by_check_in ON reservations (check_in, id);
CREATE INDEX reservations_by_check_out ON reservations (check_out, id);
CREATE INDEX reservations_by_nights ON reservations (nights, id);
CREATE INDEX reservations_by_updated_at ON reservations (updated_at, id);
CREATE INDEX reservations_by_status_check_in ON reservations (status, check_in, id);
CREATE INDEX reservations_by_property_id_check_in ON reservations (property_id, check_in, id);
CREATE INDEX reservations_by_channel_id_check_in ON reservations (channel_id, check_in, id);
CREATE INDEX reservations_by_product_id ON reservations (product_id, id);
CREATE INDEX reservations_by_agent_id ON reservations (agent_id, id);
CREATE INDEX reservations_by_company ON reservations (company, id);
