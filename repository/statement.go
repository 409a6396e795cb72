package repository

import (
	"context"
	"strings"

	"rowmill/internal/telemetry"
)

// statement counts a statement and begins its span, which ends with the first row.
// The span has what the statement does and to which table, and never its text: ids
// are written into some.
func statement(ctx context.Context, query string) (context.Context, *telemetry.Span) {
	telemetry.StatementSent(ctx)
	ctx, span := telemetry.Start(ctx, "sql", telemetry.ClientSide)
	if span != nil {
		verb, table := summary(query)
		span.Rename(strings.TrimSpace(verb + " " + table))
		span.Set(telemetry.Text("db.operation.name", verb), telemetry.Text("db.collection.name", table))
	}
	return ctx, span
}

// knownVerbs are the statements that are named; others are "SQL".
var knownVerbs = map[string]bool{"SELECT": true, "INSERT": true, "UPDATE": true, "DELETE": true, "REPLACE": true, "WITH": true}

// summary gives what a statement does and the first table that it names, "" if none.
func summary(query string) (verb, table string) {
	words := strings.Fields(query[:min(len(query), summaryBytes)])
	if len(words) == 0 || !knownVerbs[strings.ToUpper(words[0])] {
		return "SQL", ""
	}
	verb = strings.ToUpper(words[0])
	for i, w := range words[:len(words)-1] {
		switch strings.ToUpper(w) {
		case "FROM", "INTO", "UPDATE":
			return verb, identifier(words[i+1])
		}
	}
	return verb, ""
}

// summaryBytes is how far into a statement its first table is looked for.
const summaryBytes = 4 << 10

// identifier gives the name that a word starts with, without quotes, "" if it is none.
func identifier(word string) string {
	word = strings.TrimLeft(word, "`\"")
	end := strings.IndexFunc(word, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if end >= 0 {
		word = word[:end]
	}
	if word != "" && word[0] <= '9' {
		return ""
	}
	return word
}
