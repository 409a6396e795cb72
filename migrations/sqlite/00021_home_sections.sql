-- The sections of the home board, in the order of position. kind is one of banner, notice, carousel, grid and ranking; the
-- last three show products. A section is visible from visible_from until before visible_until; NULL: without that bound.
-- +goose Up
CREATE TABLE home_sections (
    id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    position INTEGER NOT NULL,
    visible_from datetime NULL,
    visible_until datetime NULL,
    PRIMARY KEY (id)
);
CREATE INDEX home_sections_by_position ON home_sections (position, id);
