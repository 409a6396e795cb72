-- +goose Up
CREATE TABLE products (
    id BIGINT NOT NULL,
    property_id BIGINT NOT NULL,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    KEY products_by_property_id (property_id, id),
    KEY products_by_name (name, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
