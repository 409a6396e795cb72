-- Money is whole minor units (hundredths): exact, and ordered as a number by both engines, where SQLite would
-- turn a DECIMAL into a float.
-- +goose Up
CREATE TABLE payments (
    reservation_id BIGINT NOT NULL,
    amount_minor BIGINT NOT NULL,
    rate_minor BIGINT NOT NULL,
    currency VARCHAR(3) NOT NULL,
    terms VARCHAR(64) NOT NULL,
    status VARCHAR(32) NOT NULL,
    paid_at DATETIME(6) NULL,
    PRIMARY KEY (reservation_id),
    KEY payments_by_amount_minor (amount_minor, reservation_id),
    KEY payments_by_terms (terms, reservation_id),
    KEY payments_by_status (status, reservation_id),
    KEY payments_by_paid_at (paid_at, reservation_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
