-- Which products a section of the home board shows, in the order of position, each once. The index by product answers
-- which sections a product is in.
-- +goose Up
CREATE TABLE home_section_items (
    section_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    product_id BIGINT NOT NULL,
    PRIMARY KEY (section_id, position)
);
CREATE UNIQUE INDEX home_section_items_by_product_id ON home_section_items (product_id, section_id);
