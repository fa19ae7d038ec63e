package sqlite

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

const selectAttributes = "SELECT name, type, text, number FROM cruster_attributes WHERE shard = ?1 AND id = ?2"

// publish replaces the published values of a run. Unchanged attributes are not written again:
// executions are found by them, and they change seldom.
func (b *batch) publish(w *journal.Write) error {
	id, p := w.ID, w.Publish
	err := exec(
		b.conn,
		"INSERT INTO cruster_published (shard, run, body) VALUES (?1, ?2, ?3) ON CONFLICT (shard, run) DO UPDATE SET "+
			"body = ?3",
		journal.KeyOf(id, w.Receiver().Chain), p.Body(),
	)
	if err != nil {
		return err
	}
	there := map[string]abi.Attribute{}
	err = run(b.conn, selectAttributes, values(id), func(row *sqlite.Stmt) error {
		there[row.ColumnText(0)] = abi.Attribute{
			Type: row.ColumnText(1), Text: row.ColumnText(2), Number: row.ColumnFloat(3),
		}
		return nil
	})
	for _, a := range p.Attributes {
		if err != nil {
			return err
		}
		if before, ok := there[a.Name]; !ok || before != a.Attribute {
			err = b.putAttribute(id, a)
		}
		delete(there, a.Name)
	}
	for name := range there {
		if err != nil {
			return err
		}
		err = exec(b.conn, "DELETE FROM cruster_attributes WHERE shard = ?1 AND id = ?2 AND name = ?3", id, name)
	}
	return err
}

func (b *batch) putAttribute(id journal.ID, a journal.NamedAttribute) error {
	return exec(
		b.conn,
		`INSERT OR REPLACE INTO cruster_attributes (shard, id, name, type, text, number, namespace, created_at)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, namespace, created_at FROM cruster_executions WHERE shard = ?1 AND id = ?2
			AND superseded = 0`,
		id,
		a.Name,
		a.Type,
		a.Text,
		a.Number,
	)
}

// Outlines implements journal.Store. As with Receipts, each is read by itself.
func (s *Store) Outlines(ctx context.Context, chains []journal.RunKey) (map[journal.RunKey]*journal.Published, error) {
	outlines := map[journal.RunKey]*journal.Published{}
	for _, chain := range chains {
		p, err := s.Published(ctx, chain)
		switch {
		case err == nil:
			p.State = nil
			outlines[chain] = p
		case !errors.Is(err, journal.ErrNotFound):
			return nil, err
		}
	}
	return outlines, nil
}
