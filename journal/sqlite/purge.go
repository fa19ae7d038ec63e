package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
)

const (
	// selectRetired finds runs that are gone. A start whose answer was lost, and that is repeated after its run was
	// deleted, has the run again: that one is left alone.
	selectRetired = `SELECT shard, run, id, chain FROM cruster_retired r WHERE holds = 0
		AND NOT EXISTS (SELECT 1 FROM cruster_executions e WHERE e.shard = r.shard AND e.run = r.run)`

	// selectMail lists results and requests behind a place, each with whether its receiver is there.
	selectMail = `SELECT i.id, i.chain, i.position, EXISTS (
			SELECT 1 FROM cruster_executions e WHERE e.shard = i.shard AND e.id = i.id AND coalesce(e.chain,
				e.run) = i.chain)
		FROM cruster_inbox i INDEXED BY cruster_inbox_mail
		WHERE i.kind IN ('result', 'interrupt', 'terminate') AND (i.shard, i.id, i.chain, i.position) > (?1, ?2, ?3, ?4)
		ORDER BY i.shard, i.id, i.chain, i.position LIMIT +?5`
)

// Retired implements sqlsweep.Tx.
func (tx *ownedTx) Retired(_ context.Context, limit int) (gone []sqlsweep.Retired, err error) {
	err = run(tx.conn, selectRetired, nil, func(row *sqlite.Stmt) error {
		r := sqlsweep.Retired{RunKey: columnRunKey(row, 0), ID: columnID(row, 2)}
		row.ColumnBytes(3, r.Chain[:])
		if tx.own.Has(r.Shard) {
			gone = append(gone, r)
		}
		if len(gone) == limit {
			return errEnough
		}
		return nil
	})
	return gone, err
}

// Forget implements sqlsweep.Tx.
func (tx *ownedTx) Forget(_ context.Context, run journal.RunKey) error {
	return exec(tx.conn, "DELETE FROM cruster_retired WHERE shard = ?1 AND run = ?2", run)
}

// Mail implements sqlsweep.Store. It takes no turn of the writer's.
func (s swept) Mail(
	ctx context.Context, _ journal.Owned, after sqlsweep.MailPlace, limit int,
) ([]sqlsweep.Mail, error) {
	return sqlread.All(ctx, s.store.reader, sqlsweep.ScanMail, "mail", nil, selectMail, after.To, after.Position, limit)
}

// DeleteMail implements sqlsweep.Tx.
func (tx *ownedTx) DeleteMail(_ context.Context, lost []sqlsweep.MailPlace) (int, error) {
	tx.store.mail.forget()
	for i := range lost {
		if err := exec(tx.conn, deleteMessage, lost[i].To, lost[i].Position); err != nil {
			return 0, err
		}
	}
	return len(lost), nil
}
