package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// swept is the store as sweeps see it.
type swept struct{ store *Store }

// Owned implements sqlsweep.Store.
func (s swept) Owned(ctx context.Context, own journal.Owned, use func(context.Context, sqlsweep.Tx) error) error {
	if err := own.Check(); err != nil {
		return err
	}
	return s.store.write(ctx, func(conn *sqlite.Conn) error {
		return use(ctx, &ownedTx{s.store, conn, own, map[journal.Shard]bool{}})
	})
}

// sweepFailed gives an error of a sweep its form.
func sweepFailed(op string, err error) error {
	return fmt.Errorf("sqlite: %s: %w", op, err)
}

// ownedTx is a transaction of the owner of shards. It implements sqlsweep.Tx.
type ownedTx struct {
	store   *Store
	conn    *sqlite.Conn
	own     journal.Owned
	checked map[journal.Shard]bool
}

// Check implements sqlsweep.Tx.
func (tx *ownedTx) Check(_ context.Context, shards ...journal.Shard) error {
	for _, shard := range shards {
		if tx.checked[shard] {
			continue
		}
		if err := checkFence(tx.conn, tx.own[shard], shard); err != nil {
			return err
		}
		tx.checked[shard] = true
	}
	return nil
}

// DeleteRows implements sqlsweep.Tx.
func (tx *ownedTx) DeleteRows(_ context.Context, rows *sqlsweep.Rows, room *sqlsweep.Room) (whole bool, err error) {
	if rows.Table == "inbox" {
		tx.store.mail.forget()
	}
	from, owner := " FROM cruster_"+rows.Table+" WHERE "+rows.Condition("+?"), []any{int(rows.Shard)}
	for _, column := range rows.Owner {
		owner = append(owner, column.Value)
	}
	found, cut := 0, false
	err = run(
		tx.conn,
		"SELECT "+rows.Bytes("length")+from+" ORDER BY "+rows.Key,
		values(owner...),
		func(row *sqlite.Stmt) error {
			if cut = room.Rows <= 0 || room.Bytes <= 0; cut {
				return errEnough
			}
			found++
			room.Rows--
			room.Bytes -= row.ColumnInt64(0)
			return nil
		},
	)
	if err != nil || found == 0 {
		return !cut, err
	}
	const last = 9 // a parameter that no owner has
	return !cut, run(
		tx.conn,
		"DELETE"+from+" AND "+rows.Key+" <= (SELECT "+rows.Key+from+" ORDER BY "+rows.Key+" LIMIT 1 OFFSET +?9)",
		func(stmt *sqlite.Stmt) {
			values(owner...)(stmt)
			stmt.BindInt64(last, int64(found-1))
		},
		nil,
	)
}

// final are the states of executions that have ended.
const final = sqlread.Final

func columnRunKey(row *sqlite.Stmt, col int) (key journal.RunKey) {
	key.Shard = journal.Shard(row.ColumnInt64(col))
	row.ColumnBytes(col+1, key.Run[:])
	return key
}
