-- Which products a section of the home board shows, in the order of position, each once. The index by product answers
-- which sections a product is in.
-- +goose Up
CREATE TABLE home_section_items (
    section_id BIGINT NOT NULL,
    position INT NOT NULL,
    product_id BIGINT NOT NULL,
    PRIMARY KEY (section_id, position),
    UNIQUE KEY home_section_items_by_product_id (product_id, section_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
