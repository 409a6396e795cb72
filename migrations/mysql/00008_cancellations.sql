-- +goose Up
CREATE TABLE cancellations (
    reservation_id BIGINT NOT NULL,
    canceled_on DATE NOT NULL,
    reason VARCHAR(255) NOT NULL,
    PRIMARY KEY (reservation_id),
    KEY cancellations_by_canceled_on (canceled_on, reservation_id),
    KEY cancellations_by_reason (reason, reservation_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
