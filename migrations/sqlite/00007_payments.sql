-- Money is whole minor units (hundredths): exact, and ordered as a number by both engines, where SQLite would
-- turn a DECIMAL into a float.
-- +goose Up
CREATE TABLE payments (
    reservation_id INTEGER NOT NULL,
    amount_minor BIGINT NOT NULL,
    rate_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    terms TEXT NOT NULL,
    status TEXT NOT NULL,
    paid_at datetime NULL,
    PRIMARY KEY (reservation_id)
);
CREATE INDEX payments_by_amount_minor ON payments (amount_minor, reservation_id);
CREATE INDEX payments_by_terms ON payments (terms, reservation_id);
CREATE INDEX payments_by_status ON payments (status, reservation_id);
CREATE INDEX payments_by_paid_at ON payments (paid_at, reservation_id);
