package crustertest

import (
	"time"

	"github.com/cruster/cruster/abi"
)

// TransactionLimit bounds how long the transaction of an activity, or of a call of an entity
// without a state, may be open, from its first statement on. As on a host it is rolled back after
// that time, and later calls on it, its commit included, fail with CR-3103, which is retried if the
// activity has retries. Defaults to 2 seconds, as on the embedded store; Postgres has 5 seconds.
// With 0 or less there is no limit.
//
// The time is real, as activities see it; in a bubble of testing/synctest it is the bubble's time.
// In a debugger let it be 0.
func TransactionLimit(d time.Duration) Option {
	return func(c *config) { c.transactionLimit = d }
}

// limitedTx is a transaction that ends at its limit, as on a host. A host rolls it back at that
// moment; here that happens when the attempt next uses it: no one else waits for it.
type limitedTx struct {
	Transaction
	began time.Time
	limit time.Duration // none if it is not positive
	over  bool
}

var _ Transaction = (*limitedTx)(nil)

func limitTx(tx Transaction, limit time.Duration) *limitedTx {
	return &limitedTx{Transaction: tx, began: time.Now(), limit: limit}
}

// check rolls the transaction back if it is open for too long. Its error does not go away.
func (t *limitedTx) check() error {
	if !t.over && t.limit > 0 && time.Since(t.began) >= t.limit {
		t.over = true
		_ = t.Transaction.Rollback() // nothing of it is kept
	}
	if !t.over {
		return nil
	}
	return abi.Errorf(abi.CodeTxTooLong, "the transaction was open for longer than %s", t.limit)
}

// Exec implements Transaction.
func (t *limitedTx) Exec(query string, args []any) (int64, error) {
	if err := t.check(); err != nil {
		return 0, err
	}
	n, err := t.Transaction.Exec(query, args)
	if late := t.check(); late != nil {
		return 0, late
	}
	return n, err
}

// Query implements Transaction.
func (t *limitedTx) Query(query string, args []any) ([]string, [][]any, error) {
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	columns, rows, err := t.Transaction.Query(query, args)
	if late := t.check(); late != nil {
		return nil, nil, late
	}
	return columns, rows, err
}

// Commit implements Transaction.
func (t *limitedTx) Commit() error {
	if err := t.check(); err != nil {
		return err
	}
	return t.Transaction.Commit()
}

// Rollback implements Transaction.
func (t *limitedTx) Rollback() error {
	if t.over {
		return nil
	}
	return t.Transaction.Rollback()
}
