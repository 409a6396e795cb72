-- Each order of the list has an index that ends in the primary key (or is unique), so that a page and a snapshot
-- are read from it in order, forwards or backwards. SQLite keeps days as 2006-01-02 and times as 2006-01-02
-- 15:04:05.000000 in UTC, texts that sort as time does.
-- +goose Up
CREATE TABLE reservations (
    id BIGINT NOT NULL,
    code VARCHAR(32) NOT NULL,
    property_id BIGINT NOT NULL,
    product_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    agent_id BIGINT NULL,
    company VARCHAR(32) NULL,
    status VARCHAR(32) NOT NULL,
    status_date DATE NOT NULL,
    booked_on DATE NOT NULL,
    check_in DATE NOT NULL,
    check_out DATE NOT NULL,
    nights INT NOT NULL,
    memo MEDIUMTEXT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY reservations_one_code (code),
    KEY reservations_by_status (status, id),
    KEY reservations_by_status_date (status_date, id),
    KEY reservations_by_booked_on (booked_on, id),
    KEY reservations_by_check_in (check_in, id),
    KEY reservations_by_check_out (check_out, id),
    KEY reservations_by_nights (nights, id),
    KEY reservations_by_updated_at (updated_at, id),
    KEY reservations_by_status_check_in (status, check_in, id),
    KEY reservations_by_property_id_check_in (property_id, check_in, id),
    KEY reservations_by_channel_id_check_in (channel_id, check_in, id),
    KEY reservations_by_product_id (product_id, id),
    KEY reservations_by_agent_id (agent_id, id),
    KEY reservations_by_company (company, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
