package repository

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"gorm.io/gorm/clause"

	"rowmill/access"
	"rowmill/internal/fault"
)

// Grants is the table of what each caller might do when seen last.
type Grants struct{ db *DB }

// NewGrants gives the grants of the database.
func NewGrants(db *DB) *Grants { return &Grants{db: db} }

// Put stores the grant in place of its subject's last one.
func (g *Grants) Put(ctx context.Context, grant access.Grant) error {
	permissions, err := json.Marshal(grant.Permissions)
	if err != nil {
		return fmt.Errorf("encode permissions: %w", err)
	}
	var properties any // NULL: all
	if grant.Properties != nil {
		b, err := json.Marshal(grant.Properties)
		if err != nil {
			return fmt.Errorf("encode properties: %w", err)
		}
		properties = string(b)
	}
	err = g.db.gorm.WithContext(ctx).Table("grants").
		Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "subject"}},
			DoUpdates: clause.AssignmentColumns([]string{"name", "permissions", "properties", "max_rows", "seen_at"}),
		}).
		Create(map[string]any{
			"subject": grant.Subject, "name": grant.Name, "permissions": string(permissions), "properties": properties,
			"max_rows": grant.MaxRows, "seen_at": moment{grant.SeenAt},
		}).Error
	return mapError(ctx, "store a grant", err)
}

// Get gives the subject's grant; one who was never seen is NotFound.
func (g *Grants) Get(ctx context.Context, subject string) (grant access.Grant, err error) {
	var seen moment
	var permissions string
	var properties sql.NullString
	err = g.db.gorm.WithContext(ctx).
		Raw("SELECT subject, name, permissions, properties, max_rows, seen_at FROM grants WHERE subject = ?", subject).
		Row().Scan(&grant.Subject, &grant.Name, &permissions, &properties, &grant.MaxRows, &seen)
	if errors.Is(err, sql.ErrNoRows) {
		return access.Grant{}, fault.Wrap(err, fault.NotFound, "There is no grant of %q.", subject)
	}
	if err != nil {
		return access.Grant{}, mapError(ctx, "read a grant", err)
	}
	grant.SeenAt = seen.Time
	err = json.Unmarshal([]byte(permissions), &grant.Permissions)
	if properties.Valid && err == nil {
		err = json.Unmarshal([]byte(properties.String), &grant.Properties)
	}
	if err != nil {
		return access.Grant{}, fmt.Errorf("decode the grant of %q: %w", subject, err)
	}
	return grant, nil
}
