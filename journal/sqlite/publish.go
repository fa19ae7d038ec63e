package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

const (
	selectPublished  = "SELECT body FROM cruster_published WHERE shard = ?1 AND run = ?2"
	selectAttributes = "SELECT name, type, text, number FROM cruster_attributes WHERE shard = ?1 AND id = ?2"
)

// publish replaces what a run has published. Attributes that stay as they are are not
// written again: they are what executions are found by, and change seldom.
func (b *batch) publish(w *journal.Write) error {
	id, p := w.ID, w.Publish
	err := exec(b.conn, "INSERT INTO cruster_published (shard, run, body) VALUES (?1, ?2, ?3) ON CONFLICT (shard, run) DO UPDATE SET body = ?3",
		journal.KeyOf(id, w.Receiver().Chain), p.Body())
	if err != nil {
		return err
	}
	there := map[string]abi.Attribute{}
	err = run(b.conn, selectAttributes, values(id), func(row *sqlite.Stmt) error {
		there[row.ColumnText(0)] = abi.Attribute{Type: row.ColumnText(1), Text: row.ColumnText(2), Number: row.ColumnFloat(3)}
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
	return exec(b.conn, `INSERT OR REPLACE INTO cruster_attributes (shard, id, name, type, text, number, namespace, created_at)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, namespace, created_at FROM cruster_executions WHERE shard = ?1 AND id = ?2 AND superseded = 0`,
		id, a.Name, a.Type, a.Text, a.Number)
}

// Published implements journal.Store.
func (s *Store) Published(ctx context.Context, chain journal.RunKey) (*journal.Published, error) {
	body, err := readOne(ctx, s, scanBlob, "what run "+chain.Run.String()+" has published", selectPublished, chain)
	if err != nil {
		return nil, err
	}
	return journal.PublishedOf(*body)
}

// Outlines implements journal.Store. A statement for each costs what one for all would: no
// network lies between.
func (s *Store) Outlines(ctx context.Context, chains []journal.RunKey) (map[journal.RunKey]*journal.Published, error) {
	outlines := map[journal.RunKey]*journal.Published{}
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		for _, chain := range chains {
			err := run(conn, selectPublished, values(chain), func(row *sqlite.Stmt) (err error) {
				outlines[chain], err = journal.OutlineOf(blob(row, 0))
				return err
			})
			if err != nil {
				return fmt.Errorf("of run %s: %w", chain.Run, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: what %d executions have published: %w", len(chains), err)
	}
	return outlines, nil
}
