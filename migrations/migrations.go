// Package migrations owns the schema: numbered SQL files, one folder per
// engine, the same numbers and the same tables in both (a test compares them).
//
// Each file is one step that either happens or does not. MySQL commits at every
// DDL statement, so a file of its folder holds exactly one; SQLite runs a file
// in a transaction, so a file of its folder may add a table's indexes behind it.
//
// Code runs before and after each migration: while an update is rolled out, old
// and new processes share the database. So a step only adds what the old code
// can overlook (a table, a nullable column, an index); what is no longer used
// is dropped by a later release, after the code that used it is gone. Files that
// have been released never change, and there is no way down: the way back is
// another step forward.
//
// Of what the tables mean, reservations and what they refer to is told by package
// reservation, jobs by package export. The home board stands beside them:
// home_sections are its parts, of five kinds, with a title, a place and a time in
// which they are visible; home_section_items say which products a section shows,
// and in which order; product_units are what of a product can be sold, and
// inventories how many of a unit are free on a day.
package migrations

import "embed"

// MySQL holds the folder "mysql", SQLite the folder "sqlite".
var (
	//go:embed mysql/*.sql
	MySQL embed.FS
	//go:embed sqlite/*.sql
	SQLite embed.FS
)
