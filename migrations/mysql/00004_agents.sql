-- Agencies are numbered per hotel: code is unique only within a property.
-- +goose Up
CREATE TABLE agents (
    id BIGINT NOT NULL,
    property_id BIGINT NOT NULL,
    code VARCHAR(32) NOT NULL,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY agents_one_property_id_code (property_id, code),
    KEY agents_by_code (code, id),
    KEY agents_by_name (name, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
