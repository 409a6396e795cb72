-- A reservation has one row here or none. What a person may be looked up by is indexed; counts and flags are
-- not, as they choose too little.
-- +goose Up
CREATE TABLE guests (
    reservation_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    phone TEXT NOT NULL,
    email TEXT NOT NULL,
    country TEXT NULL,
    adults INTEGER NOT NULL,
    children INTEGER NULL,
    babies INTEGER NOT NULL,
    customer_type TEXT NOT NULL,
    repeated BOOLEAN NOT NULL,
    earlier_canceled INTEGER NOT NULL,
    earlier_kept INTEGER NOT NULL,
    PRIMARY KEY (reservation_id)
);
CREATE INDEX guests_by_name ON guests (name, reservation_id);
CREATE INDEX guests_by_phone ON guests (phone, reservation_id);
CREATE INDEX guests_by_email ON guests (email, reservation_id);
CREATE INDEX guests_by_country ON guests (country, reservation_id);
CREATE INDEX guests_by_customer_type ON guests (customer_type, reservation_id);
