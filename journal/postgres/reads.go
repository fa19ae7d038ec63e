package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal/sqlread"
)

// newReads makes the queries of the plain reads of a schema.
func newReads(schema string) *sqlread.Queries {
	return sqlread.NewQueries(sqlread.Dialect{
		Store: "postgres", Tables: quote(schema) + ".", Parameter: "$",
		Input: "e.input", Binary: "wasm", Flags: "repeatable, held", IsText: isText,
		// In the order of their positions the planner would walk through the inbox.
		ParkedOfEntity: `(SELECT * FROM {inbox} WHERE shard = $1 AND id = $2 AND parked IS NOT NULL OFFSET 0) AS i`,
	})
}

// reader has the plain reads of a store.
type reader = sqlread.Reader

// database runs the queries of the plain reads.
type database struct{ *Store }

// Query implements sqlread.DB.
func (d database) Query(ctx context.Context, text string, args []any, to sqlread.Sink) error {
	if err := d.resolveInDoubt(ctx); err != nil {
		return err
	}
	return d.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		to.Begin()
		rows, err := conn.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := to.Add(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}
