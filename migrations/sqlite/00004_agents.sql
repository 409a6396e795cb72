-- Agencies are numbered per hotel: code is unique only within a property.
-- +goose Up
CREATE TABLE agents (
    id INTEGER NOT NULL,
    property_id BIGINT NOT NULL,
    code TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX agents_one_property_id_code ON agents (property_id, code);
CREATE INDEX agents_by_code ON agents (code, id);
CREATE INDEX agents_by_name ON agents (name, id);
