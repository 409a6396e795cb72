-- A reservation has one row here or none. What a person may be looked up by is indexed; counts and flags are
-- not, as they choose too little.
-- +goose Up
CREATE TABLE guests (
    reservation_id BIGINT NOT NULL,
    name VARCHAR(255) NOT NULL,
    phone VARCHAR(64) NOT NULL,
    email VARCHAR(255) NOT NULL,
    country VARCHAR(8) NULL,
    adults INT NOT NULL,
    children INT NULL,
    babies INT NOT NULL,
    customer_type VARCHAR(64) NOT NULL,
    repeated BOOLEAN NOT NULL,
    earlier_canceled INT NOT NULL,
    earlier_kept INT NOT NULL,
    PRIMARY KEY (reservation_id),
    KEY guests_by_name (name, reservation_id),
    KEY guests_by_phone (phone, reservation_id),
    KEY guests_by_email (email, reservation_id),
    KEY guests_by_country (country, reservation_id),
    KEY guests_by_customer_type (customer_type, reservation_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
