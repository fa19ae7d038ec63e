package sqlsweep_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// Shards of the tests: two of the host, and one of another between them.
const mine, foreign, also journal.Shard = 1, 2, 3

// maxTxs is more transactions than any test needs: a loop without an end.
const maxTxs = 2000

// fake is a store in memory. It keeps the work of each transaction, and records forbidden work as faults.
type fake struct {
	state
	*sqlsweep.Sweeper

	own     journal.Owned
	current journal.Owned       // the fences of all shards
	before  func(tx int)        // a turn of others ahead of each transaction
	reading func()              // a turn of others within each page of mail
	full    bool                // whether DeleteRows without room says that rows may be left
	taken   map[journal.ID]bool // locks that others take while they are swept

	mu     sync.Mutex // transactions
	txs    []*fakeTx
	reads  sync.Mutex // pages and faults
	pages  []mailPage
	faults []string
}

// state is the state that a failed transaction leaves unchanged.
type state struct {
	live     map[journal.RunKey]bool // runs that are not over
	holders  []sqlsweep.Holder
	runs     []fakeRun
	receipts []fakeReceipt
	locks    []sqlsweep.Lock
	retired  []sqlsweep.Retired
	rows     map[string][]int64 // their sizes
	mail     []sqlsweep.Mail
	links    []journal.RunKey
}

// fakeRun is a finished or a live run; a step of asker may ask for it.
type fakeRun struct {
	sqlsweep.RunPlace
	run           journal.RunID
	asker, heldBy journal.RunKey
	linked        bool // after Expired has looked
}

func (r *fakeRun) key() journal.RunKey { return journal.KeyOf(r.ID, r.run) }

type fakeReceipt struct {
	sqlsweep.ReceiptPlace
	bytes int64
	from  journal.Caller
	held  bool
}

func (r *fakeReceipt) sender() journal.RunKey { return journal.KeyOf(r.from.ID, r.from.Run) }

// mailPage is a call of Mail: its limit and its answer.
type mailPage struct {
	limit int
	found []sqlsweep.Mail
}

func newFake(t *testing.T) *fake {
	f := &fake{own: make(journal.Owned, journal.NumShards), current: make(journal.Owned, journal.NumShards)}
	for s := range f.current {
		f.current[s] = journal.Fence{Epoch: 2, Token: journal.Token{byte(s), 1}}
	}
	f.own[mine], f.own[also] = f.current[mine], f.current[also]
	f.live, f.rows, f.taken = map[journal.RunKey]bool{}, map[string][]int64{}, map[journal.ID]bool{}
	f.Sweeper = sqlsweep.New(f, func(op string, err error) error { return fmt.Errorf("fake: %s: %w", op, err) })
	t.Cleanup(func() { require.Empty(t, f.faults) })
	return f
}

func (f *fake) fault(format string, args ...any) error {
	f.reads.Lock()
	defer f.reads.Unlock()
	err := fmt.Errorf(format, args...)
	f.faults = append(f.faults, err.Error())
	return err
}

func (s *state) clone() state {
	return state{
		maps.Clone(s.live), slices.Clone(s.holders), slices.Clone(s.runs), slices.Clone(s.receipts),
		slices.Clone(s.locks), slices.Clone(s.retired), maps.Clone(s.rows), slices.Clone(s.mail), slices.Clone(s.links),
	}
}

// claim gives a shard to another owner.
func (f *fake) claim(s journal.Shard) { f.current[s].Epoch++ }

// Owned implements sqlsweep.Store.
func (f *fake) Owned(ctx context.Context, own journal.Owned, use func(context.Context, sqlsweep.Tx) error) error {
	if err := own.Check(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		f.before(len(f.txs))
	}
	if len(f.txs) == maxTxs {
		return f.fault("a sweep has no end")
	}
	tx := &fakeTx{f: f, own: own, checked: map[journal.Shard]bool{}}
	f.txs = append(f.txs, tx)
	saved := f.clone()
	err := use(ctx, tx)
	if err != nil {
		f.state = saved
	}
	return err
}

// Mail implements sqlsweep.Store.
func (f *fake) Mail(
	_ context.Context, own journal.Owned, after sqlsweep.MailPlace, limit int,
) ([]sqlsweep.Mail, error) {
	if err := own.Check(); err != nil {
		return nil, f.fault("mail: %w", err)
	}
	if f.reading != nil {
		f.reading()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found := page(f.mail, limit, func(m sqlsweep.Mail) bool { return compareMail(m.MailPlace, after) > 0 })
	f.reads.Lock()
	defer f.reads.Unlock()
	f.pages = append(f.pages, mailPage{limit, found})
	return found, nil
}

// page lists up to limit rows of a kind.
func page[R any](rows []R, limit int, is func(R) bool) (found []R) {
	for _, r := range rows {
		if len(found) == limit {
			break
		}
		if is(r) {
			found = append(found, r)
		}
	}
	return found
}

func compareRuns(a, b sqlsweep.RunPlace) int {
	return cmp.Or(cmp.Compare(a.At, b.At), bytes.Compare(a.ID[:], b.ID[:]), cmp.Compare(a.Superseded, b.Superseded))
}

func compareReceipts(a, b sqlsweep.ReceiptPlace) int {
	return cmp.Or(cmp.Compare(a.At, b.At), bytes.Compare(a.ID[:], b.ID[:]), bytes.Compare(a.Origin[:], b.Origin[:]))
}

func compareMail(a, b sqlsweep.MailPlace) int {
	return cmp.Or(bytes.Compare(a.To.ID[:], b.To.ID[:]), bytes.Compare(a.To.Chain[:], b.To.Chain[:]),
		cmp.Compare(a.Position, b.Position))
}

// idIn is the id of a number in a shard. Ids of a shard are in the order of their numbers.
func idIn(s journal.Shard, n int) (id journal.ID) {
	binary.BigEndian.PutUint16(id[:], uint16(s)<<6)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// runIn returns the key of a run, different for each number and shard.
func runIn(s journal.Shard, n int) journal.RunKey {
	return journal.KeyOf(idIn(s, n), journal.RunID(idIn(s, n)))
}

// add adds a run to the finished ones; runs are added in the order of their places.
func (f *fake) add(at int64, s journal.Shard, change ...func(*fakeRun)) journal.RunKey {
	n := len(f.runs) + 1
	r := fakeRun{RunPlace: sqlsweep.RunPlace{At: at, ID: idIn(s, n)}, run: runIn(s, n).Run}
	for _, c := range change {
		c(&r)
	}
	if n > 1 && compareRuns(f.runs[n-2].RunPlace, r.RunPlace) >= 0 {
		_ = f.fault("a run out of order")
	}
	f.runs = append(f.runs, r)
	return r.key()
}

// addReceipt adds a receipt; they are added in the order of their places.
func (f *fake) addReceipt(at int64, s journal.Shard, change ...func(*fakeReceipt)) {
	r := fakeReceipt{ReceiptPlace: sqlsweep.ReceiptPlace{At: at, ID: idIn(s, len(f.receipts)+1)}}
	for _, c := range change {
		c(&r)
	}
	if n := len(f.receipts); n > 0 && compareReceipts(f.receipts[n-1].ReceiptPlace, r.ReceiptPlace) >= 0 {
		_ = f.fault("a receipt out of order")
	}
	f.receipts = append(f.receipts, r)
}

// addLock adds a lock; they are added in the order of their shards.
func (f *fake) addLock(s journal.Shard, held bool) journal.ID {
	l := sqlsweep.Lock{Lock: journal.Lock{Entity: idIn(s, len(f.locks)+1)}, Held: held}
	if n := len(f.locks); n > 0 && bytes.Compare(f.locks[n-1].Entity[:], l.Entity[:]) >= 0 {
		_ = f.fault("a lock out of order")
	}
	f.locks = append(f.locks, l)
	return l.Entity
}

// addMail adds a message; they are added in the order of their shards.
func (f *fake) addMail(s journal.Shard, there bool) sqlsweep.Mail {
	n := len(f.mail) + 1
	to := journal.Receiver{ID: idIn(s, n), Chain: runIn(s, n).Run}
	m := sqlsweep.Mail{MailPlace: sqlsweep.MailPlace{To: to, Position: 1}, There: there}
	if n > 1 && compareMail(f.mail[n-2].MailPlace, m.MailPlace) >= 0 {
		_ = f.fault("mail out of order")
	}
	f.mail = append(f.mail, m)
	return m
}

// rowsKey is the key of rows in a table.
func rowsKey(table string, owner ...[]byte) string { return table + string(slices.Concat(owner...)) }

func inboxKey(to journal.Receiver) string { return rowsKey("inbox", to.ID[:], to.Chain[:]) }

// tablesOf are the keys of all rows that a run which is gone has left.
func tablesOf(r sqlsweep.Retired) (keys []string) {
	for _, table := range []string{"entries", "links", "hibernated", "inputs"} {
		keys = append(keys, rowsKey(table, r.Run[:]))
	}
	keys = append(keys, inboxKey(journal.SettlementsOf(r.ID, r.Run)))
	if r.Chain.IsZero() {
		return keys
	}
	return append(keys, rowsKey("published", r.Chain[:]), inboxKey(journal.Receiver{ID: r.ID, Chain: r.Chain}))
}

// retire adds a run that is gone, with as many rows in each of its tables as sizes.
func (f *fake) retire(s journal.Shard, chain journal.RunID, sizes ...int64) sqlsweep.Retired {
	n := len(f.retired) + 1
	r := sqlsweep.Retired{RunKey: runIn(s, n), ID: idIn(s, n), Chain: chain}
	f.retired = append(f.retired, r)
	if len(sizes) > 0 {
		for _, key := range tablesOf(r) {
			f.rows[key] = sizes
		}
	}
	return r
}

// left is how many rows there are in all tables of runs that are gone, with the runs.
func (f *fake) left() int {
	n := len(f.retired)
	for _, rows := range f.rows {
		n += len(rows)
	}
	return n
}

// times is n times a size.
func times(n int, size int64) []int64 { return slices.Repeat([]int64{size}, n) }
