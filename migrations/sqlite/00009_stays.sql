-- +goose Up
CREATE TABLE stays (
    reservation_id INTEGER NOT NULL,
    room_type TEXT NOT NULL,
    meal TEXT NOT NULL,
    parking INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    waiting_days INTEGER NOT NULL,
    PRIMARY KEY (reservation_id)
);
CREATE INDEX stays_by_room_type ON stays (room_type, reservation_id);
CREATE INDEX stays_by_meal ON stays (meal, reservation_id);
