-- +goose Up
CREATE TABLE cancellations (
    reservation_id INTEGER NOT NULL,
    canceled_on date NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (reservation_id)
);
CREATE INDEX cancellations_by_canceled_on ON cancellations (canceled_on, reservation_id);
CREATE INDEX cancellations_by_reason ON cancellations (reason, reservation_id);
