package main

import (
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/jmoiron/sqlx"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/stdsql"
)

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "summaries", SQL: `
CREATE TABLE summaries (
	channel TEXT NOT NULL,
	day     TEXT NOT NULL,
	summary TEXT NOT NULL,
	at      TIMESTAMP NOT NULL,
	PRIMARY KEY (channel, day)
)`},
	cruster.Migration{Version: 2, Name: "lines", SQL: `
CREATE TABLE summary_lines (
	channel TEXT NOT NULL,
	day     TEXT NOT NULL,
	line    TEXT NOT NULL
)`},
)

// Kept is the kept part of a standup.
type Kept struct {
	Channel string    `json:"channel" db:"channel"`
	Day     string    `json:"day" db:"day"`
	Summary string    `json:"summary" db:"summary"`
	Lines   []string  `json:"lines" db:"-"`
	At      time.Time `json:"-" db:"at"`
}

// Keep keeps a summary with its lines, and returns how many the channel had before.
var Keep = cruster.NewActivity("keep", keep, cruster.Retries(5), cruster.ExponentialBackoff(100*time.Millisecond))

// sql writes $1 for arguments, as both databases want it.
var sql = squirrel.StatementBuilder.PlaceholderFormat(squirrel.Dollar)

func keep(ctx *cruster.ActivityContext, k Kept) (before int64, err error) {
	db := sqlx.NewDb(stdsql.Open(ctx), "postgres") // for its way of writing arguments
	if err := db.GetContext(ctx, &before, "SELECT COUNT(*) FROM summaries WHERE channel = $1", k.Channel); err != nil {
		return 0, err
	}
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // there is nothing to undo behind a Commit
	k.At = time.Now()
	if _, err := tx.NamedExecContext(
		ctx, "INSERT INTO summaries (channel, day, summary, at) VALUES (:channel, :day, :summary, :at)", k,
	); err != nil {
		return 0, err
	}
	insert := sql.Insert("summary_lines").Columns("channel", "day", "line")
	for _, line := range k.Lines {
		insert = insert.Values(k.Channel, k.Day, line)
	}
	if _, err := insert.RunWith(tx).ExecContext(ctx); err != nil {
		return 0, err
	}
	var stored Kept
	if err := tx.GetContext(
		ctx, &stored, "SELECT * FROM summaries WHERE channel = $1 AND day = $2", k.Channel, k.Day,
	); err != nil {
		return 0, err
	}
	// A database may keep times with fewer digits.
	if stored.Summary != k.Summary || stored.At.Sub(k.At).Abs() > time.Millisecond {
		return 0, cruster.NonRetryable(cruster.Errorf("not_kept", "%v was kept as %v", k, stored))
	}
	return before, tx.Commit()
}
