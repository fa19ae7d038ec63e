package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// selectRetired finds runs that are gone, and hold nothing.
func (st *statements) selectRetired() string {
	return `SELECT r.* FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.shard, x.run, x.id, x.chain FROM ` + st.retired + ` x WHERE x.shard = s.shard AND NOT x.holds
				AND NOT EXISTS (SELECT FROM ` + st.executions + ` e WHERE e.shard = x.shard AND e.run = x.run` +
		lookUp + ` LIMIT $2 FOR UPDATE SKIP LOCKED) AS r
		LIMIT $2`
}

// Retired implements sqlsweep.Tx.
func (tx *ownedTx) Retired(ctx context.Context, limit int) ([]sqlsweep.Retired, error) {
	rows, err := tx.Query(ctx, tx.sql.selectRetired(), tx.shards(0), limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r sqlsweep.Retired, err error) {
		var shard int16
		var run, id, chain []byte
		err = row.Scan(&shard, &run, &id, &chain)
		r.RunKey = runKeyOf(shard, run)
		copy(r.ID[:], id)
		copy(r.Chain[:], chain)
		return r, err
	})
}

// Forget implements sqlsweep.Tx.
func (tx *ownedTx) Forget(ctx context.Context, run journal.RunKey) error {
	_, err := tx.Exec(ctx, `DELETE FROM `+tx.sql.retired+` WHERE shard = $1 AND run = $2`, int16(run.Shard), run.Run[:])
	return err
}

// selectMail lists results and requests behind a place, each with whether its receiver is there.
func (st *statements) selectMail() string {
	return `SELECT i.id, i.chain, i.position, EXISTS (
			SELECT FROM ` + st.executions +
		` e WHERE e.shard = i.shard AND e.id = i.id AND coalesce(e.chain, e.run) = i.chain` + lookUp + `
		FROM unnest($1::int2[]) AS s (shard) CROSS JOIN LATERAL (
			SELECT x.shard, x.id, x.chain, x.position FROM ` + st.inbox +
		` x WHERE x.shard = s.shard AND x.kind IN ('result', 'interrupt', 'terminate')
				AND (x.id, x.chain, x.position) > (` + fromPlace("$4::bytea", "''") + `, ` +
		fromPlace("$5::bytea", "''") + `, ` + fromPlace("$6::int8", "0") + `)
			ORDER BY x.id, x.chain, x.position LIMIT $2) AS i
		LIMIT $2`
}

// Mail implements sqlsweep.Store.
func (s swept) Mail(
	ctx context.Context, own journal.Owned, after sqlsweep.MailPlace, limit int,
) ([]sqlsweep.Mail, error) {
	first := after.To.ID.Shard()
	return sqlread.All(ctx, s.store.reader, sqlsweep.ScanMail, "mail", nil, s.store.sql.selectMail(),
		shardColumn(own.From(first)), limit, int16(first), after.To.ID[:], chainColumn(after.To.Chain),
		int64(after.Position),
	)
}

// DeleteMail implements sqlsweep.Tx.
func (tx *ownedTx) DeleteMail(ctx context.Context, lost []sqlsweep.MailPlace) (int, error) {
	var rows takeRows
	for _, m := range lost {
		rows.add(m.To, m.Position)
	}
	tag, err := tx.Exec(
		ctx,
		`DELETE FROM `+tx.sql.inbox+
			` i USING unnest($1::int2[], $2::bytea[], $3::bytea[], $4::int8[]) AS d (shard, id, chain, position)
		WHERE i.shard = d.shard AND i.id = d.id AND i.chain = d.chain AND i.position = d.position`,
		rows.shards,
		rows.ids,
		rows.chains,
		rows.positions,
	)
	return int(tag.RowsAffected()), err
}
