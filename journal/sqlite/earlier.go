package sqlite

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/cruster/cruster/journal"
)

// supersede makes way for another run of an execution: the current one, if there is one, is
// superseded; apply has checked that it is over. Executions are found by the attributes of the
// current run alone.
func (b *batch) supersede(id journal.ID) error {
	for _, query := range []string{
		`UPDATE cruster_executions SET superseded = 1 + (SELECT max(superseded) FROM cruster_executions WHERE shard = ?1 AND id = ?2)
			WHERE shard = ?1 AND id = ?2 AND superseded = 0`,
		"DELETE FROM cruster_attributes WHERE shard = ?1 AND id = ?2",
	} {
		if err := exec(b.conn, query, id); err != nil {
			return err
		}
	}
	return nil
}

// superseding tells whether the run that a write supersedes has a message of the origin that
// the write receives.
func (b *batch) superseding(w *journal.Write) (bool, error) {
	there, err := b.run(w.ID)
	if err != nil || there == nil {
		return false, err
	}
	return b.knows(journal.Receiver{ID: w.ID, Chain: there.chain}, w.Receive.Origin)
}

const selectEarlier = "SELECT " + executionColumns + ` FROM cruster_executions e
		WHERE e.shard = ?1 AND e.id = ?2 AND e.superseded > 0 AND e.superseded < ?3 ORDER BY e.superseded DESC LIMIT ?4`

var selectRun = selectExecution + theRun

var selectRequested = selectBrief + theCurrent + " AND e.request = ?3"

// selectRequestedSuperseded goes by its index: SQLite takes a walk over all superseded runs of the
// execution for as good.
var selectRequestedSuperseded = strings.Replace(selectBrief, "cruster_executions e", "cruster_executions e INDEXED BY cruster_executions_request", 1) +
	" WHERE e.shard = ?1 AND e.id = ?2 AND e.superseded > 0 AND e.request = ?3 LIMIT 1"

// Earlier implements journal.Store.
func (s *Store) Earlier(ctx context.Context, id journal.ID, before uint64, limit int) ([]journal.Execution, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return readAll(ctx, s, scanListed, "earlier runs of execution "+id.String(), selectEarlier, id, before, max(limit, 0))
}

// Requested implements journal.Store.
func (s *Store) Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error) {
	e, err := readOne(ctx, s, scanExecution, "a run by its request", selectRequested, id, request)
	if errors.Is(err, journal.ErrNotFound) {
		return readOne(ctx, s, scanExecution, "an earlier run by its request", selectRequestedSuperseded, id, request)
	}
	return e, err
}

// FindRun implements journal.Store.
func (s *Store) FindRun(ctx context.Context, id journal.ID, of journal.RunID) (*journal.Execution, error) {
	return readOne(ctx, s, scanExecution, "run "+of.String(), selectRun, id, of)
}
