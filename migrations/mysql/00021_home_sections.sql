-- The sections of the home board, in the order of position. kind is one of banner, notice, carousel, grid and ranking; the
-- last three show products. A section is visible from visible_from until before visible_until; NULL: without that bound.
-- +goose Up
CREATE TABLE home_sections (
    id BIGINT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    title VARCHAR(255) NOT NULL,
    position INT NOT NULL,
    visible_from DATETIME(6) NULL,
    visible_until DATETIME(6) NULL,
    PRIMARY KEY (id),
    KEY home_sections_by_position (position, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
