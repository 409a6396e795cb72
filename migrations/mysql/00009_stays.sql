-- +goose Up
CREATE TABLE stays (
    reservation_id BIGINT NOT NULL,
    room_type VARCHAR(32) NOT NULL,
    meal VARCHAR(32) NOT NULL,
    parking INT NOT NULL,
    requests INT NOT NULL,
    changes INT NOT NULL,
    waiting_days INT NOT NULL,
    PRIMARY KEY (reservation_id),
    KEY stays_by_room_type (room_type, reservation_id),
    KEY stays_by_meal (meal, reservation_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
