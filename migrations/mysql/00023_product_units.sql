-- What of a product can be sold: a kind of room, or of room and board.
-- +goose Up
CREATE TABLE product_units (
    id BIGINT NOT NULL,
    product_id BIGINT NOT NULL,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    KEY product_units_by_product_id (product_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
