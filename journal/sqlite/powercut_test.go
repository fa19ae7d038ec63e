package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/journal"
)

// How many power cuts TestPowerCut tries, and from which seed on, unless the environment says otherwise. In full they
// are many more.
const (
	powerCutsEnv  = "CRUSTER_POWERCUTS"
	powerSeedEnv  = "CRUSTER_POWERCUT_SEED"
	powerCuts     = 30
	manyPowerCuts = 3000
	powerCutLanes = 3
	powerCutSteps = 70
)

// fact is something that the store acknowledged, when so much of the log was written. A later one of the same name says
// all that it says.
type fact struct {
	name  string
	at    int
	check func(s *Store) error
}

// powerLoad fills a store whose disk is recorded, and keeps the acknowledged writes.
type powerLoad struct {
	ctx         context.Context
	dir         string
	disk        *recorder
	synchronous string
	rng         *rand.Rand
	store       *Store
	fences      []journal.Fence
	facts       []fact
	seqs        [powerCutLanes]uint64 // of the last entry of each lane
	bought      int                   // by transactions of modules
	throwers    int                   // executions that were started to be swept
	sent, taken int                   // messages to the counter
	continued   uint32                // how often the chained execution has
	worked      uint64                // entries of its run
}

func (l *powerLoad) acknowledged(name string, check func(s *Store) error) {
	l.facts = append(l.facts, fact{name, l.disk.length(), check})
}

func (l *powerLoad) open() (err error) {
	if l.store, err = Open(l.ctx, Config{Dir: l.dir, MaxReaders: 1}); err != nil {
		return err
	}
	// The log is copied back every few pages instead of every few thousand, so that all of its life is seen.
	for _, pragma := range []string{"PRAGMA wal_autocheckpoint = 12", "PRAGMA synchronous = " + l.synchronous} {
		if err := run(l.store.writer, pragma, nil, nil); err != nil {
			return err
		}
	}
	l.fences, err = l.store.ClaimShards(l.ctx, "test")
	if err != nil {
		return err
	}
	claimed := l.fences[0].Epoch
	l.acknowledged("claim", func(s *Store) error {
		fences, err := s.ClaimShards(context.Background(), "after")
		if err == nil && fences[0].Epoch <= claimed {
			err = fmt.Errorf("the epoch is %d, and was %d", fences[0].Epoch, claimed)
		}
		return err
	})
	return nil
}

func runOf(e journal.Execution) journal.RunKey { return e.RunKey() }

func laneOf(key string) journal.Execution {
	id := journal.IDOf("default", "w/W", key)
	return journal.Execution{
		ID:        id,
		Run:       journal.RunID(id),
		Namespace: "default",
		Workflow:  "w/W",
		Key:       key,
		State:     journal.Running,
		CreatedAt: 1,
	}
}

func (l *powerLoad) write(key string) journal.Write {
	e := laneOf(key)
	return journal.Write{ID: e.ID, Run: e.Run, Fence: l.fences[e.ID.Shard()]}
}

func (l *powerLoad) commit(writes ...journal.Write) error {
	results, err := l.store.Commit(l.ctx, writes)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

// run is the life of the store: made, used, closed and used again.
func (l *powerLoad) run() error {
	if err := l.open(); err != nil {
		return err
	}
	m := journal.Module{Digest: "sha256:1", Binary: make([]byte, 10_000)}
	d := journal.Deployment{Namespace: "default", Name: "w", Digest: m.Digest}
	_, err := l.store.Deploy(l.ctx, l.fences[d.Shard()], m, d, []abi.Migration{{
		Version: 1,
		SQL:     "CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER, note TEXT); INSERT INTO stock VALUES (1, 0, '')",
	}})
	if err != nil {
		return err
	}
	l.acknowledged("deployment", func(s *Store) error {
		_, err := s.Deployment(context.Background(), "default", "w")
		return err
	})
	for lane := range powerCutLanes {
		e := laneOf(fmt.Sprint(lane))
		w := l.write(e.Key)
		w.Start = &e
		if err := l.commit(w); err != nil {
			return err
		}
		l.acknowledged("start "+e.Key, func(s *Store) error {
			_, err := s.Load(context.Background(), e.ID)
			return err
		})
	}
	first := l.write(chained)
	start := laneOf(chained)
	first.Start, first.Publish = &start, publishedBy(0)
	if err := l.commit(first); err != nil {
		return err
	}
	for step := range powerCutSteps {
		if step == powerCutSteps/2 {
			if err := l.store.Close(); err != nil {
				return err
			}
			if err := l.open(); err != nil {
				return err
			}
		}
		if err := []func() error{
			l.append, l.append, l.buy, l.throwAway, l.copyBack, l.send, l.count, l.work, l.goOn,
		}[l.rng.IntN(9)](); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return l.store.Close()
}

// append adds entries to some lanes.
func (l *powerLoad) append() error {
	var writes []journal.Write
	want := l.seqs
	for lane := range powerCutLanes {
		if l.rng.IntN(2) == 0 {
			continue
		}
		w := l.write(fmt.Sprint(lane))
		for range 1 + l.rng.IntN(3) {
			want[lane]++
			w.Entries = append(w.Entries, journal.Entry{
				Seq: want[lane], Kind: journal.Delivery, Value: make([]byte, l.rng.IntN(1<<l.rng.IntN(15))),
			})
		}
		writes = append(writes, w)
	}
	if err := l.commit(writes...); err != nil {
		return err
	}
	l.seqs = want
	l.acknowledged("entries", func(s *Store) error { return wantEntries(s, want) })
	return nil
}

// copyBack copies the log back with the handle that does so beside commits.
func (l *powerLoad) copyBack() error {
	_, _, err := l.store.log.checkpoint("PASSIVE")
	return err
}

// buy has a module change its table, together with an entry.
func (l *powerLoad) buy() error {
	tx, err := l.store.BeginGuest(l.ctx, "default")
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(l.ctx) }()
	note := string(make([]byte, l.rng.IntN(5000)))
	if _, err := tx.Exec(l.ctx, "UPDATE stock SET n = n + 1, note = $1", []any{note}); err != nil {
		return err
	}
	lane := l.rng.IntN(powerCutLanes)
	w := l.write(fmt.Sprint(lane))
	w.Entries = []journal.Entry{{Seq: l.seqs[lane] + 1, Kind: journal.Delivery, Value: []byte("bought")}}
	if err := tx.Commit(l.ctx, w); err != nil {
		return err
	}
	l.seqs[lane]++
	l.bought++
	want, bought := l.seqs, l.bought
	l.acknowledged("bought", func(s *Store) error {
		if n, err := stockOf(s); err != nil || n < bought {
			return fmt.Errorf("%d were bought, and %d are there: %w", bought, n, err)
		}
		return wantEntries(s, want)
	})
	return nil
}

// throwAway starts an execution, ends it and has it swept.
func (l *powerLoad) throwAway() error {
	l.throwers++
	e := laneOf(fmt.Sprint("thrown ", l.throwers))
	e.State, e.WakeAt, e.FinishedAt = journal.Completed, journal.Never, 1
	w := l.write(e.Key)
	w.Start = &e
	w.Entries = []journal.Entry{{Seq: 1, Kind: journal.Delivery, Value: make([]byte, 3000)}}
	if err := l.commit(w); err != nil {
		return err
	}
	if n, err := l.store.Sweep(l.ctx, l.fences, 100, 10); err != nil || n != 1 {
		return fmt.Errorf("swept %d: %w", n, err)
	}
	l.acknowledged("swept "+e.Key, func(s *Store) error {
		if _, err := s.Load(context.Background(), e.ID); !errors.Is(err, journal.ErrNotFound) {
			return fmt.Errorf("a swept execution is back: %w", err)
		}
		return nil
	})
	return nil
}

// entriesOf reads the journal of a lane, which has no gaps.
func entriesOf(s *Store, lane int) ([]journal.Entry, error) {
	entries, _, err := s.Entries(context.Background(), runOf(laneOf(fmt.Sprint(lane))), 0, journal.PageLimit{
		Entries: 1_000_000, Bytes: 1 << 30,
	})
	for i := range entries {
		if entries[i].Seq != uint64(i+1) {
			return nil, fmt.Errorf("lane %d has entry %d in place %d", lane, entries[i].Seq, i)
		}
	}
	return entries, err
}

func wantEntries(s *Store, want [powerCutLanes]uint64) error {
	for lane, n := range want {
		entries, err := entriesOf(s, lane)
		if err != nil {
			return err
		}
		if uint64(len(entries)) < n {
			return fmt.Errorf("lane %d has %d entries of %d", lane, len(entries), n)
		}
	}
	return nil
}

func stockOf(s *Store) (n int, err error) {
	tx, err := s.BeginGuest(context.Background(), "default")
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, rows, err := tx.Query(context.Background(), "SELECT n FROM stock", nil)
	if err != nil {
		return 0, err
	}
	return int(rows[0][0].(int64)), nil
}

// whole tells whether a store is in order in itself: the parts of a commit are there together.
func whole(s *Store) error {
	var problems []error
	err := run(s.writer, "PRAGMA integrity_check", nil, func(row *sqlite.Stmt) error {
		if text := row.ColumnText(0); text != "ok" {
			problems = append(problems, errors.New(text))
		}
		return nil
	})
	if err = errors.Join(append(problems, err)...); err != nil {
		return fmt.Errorf("corrupt: %w", err)
	}
	if _, err := s.Deployment(context.Background(), "default", "w"); errors.Is(err, journal.ErrNotFound) {
		return nil // the power was cut before
	}
	bought := 0
	for lane := range powerCutLanes {
		entries, err := entriesOf(s, lane)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if string(e.Value) == "bought" {
				bought++
			}
		}
	}
	if n, err := stockOf(s); err != nil || n != bought {
		return fmt.Errorf("%d entries say that something was bought, and the table says %d: %w", bought, n, err)
	}
	if _, _, err = mailOfCounter(s); err != nil {
		return err
	}
	_, err = runsOf(s)
	return err
}

// survives cuts the power at a place of the log, opens the remains, and returns their faults.
func (l *powerLoad) survives(dir string, at int, rng *rand.Rand) (err error) {
	for name, content := range replay(l.disk.log[:at]).cut(rng) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	s, err := Open(l.ctx, Config{Dir: dir, MaxReaders: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := whole(s); err != nil {
		return err
	}
	last := map[string]fact{}
	for _, f := range l.facts {
		if f.at <= at {
			last[f.name] = f
		}
	}
	for _, f := range last {
		if err := f.check(s); err != nil {
			return fmt.Errorf("%s, acknowledged at %d: %w", f.name, f.at, err)
		}
	}
	return nil
}

func fromEnv(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

func newPowerLoad(t *testing.T, seed uint64, synchronous string) *powerLoad {
	dir := t.TempDir()
	l := &powerLoad{
		ctx: t.Context(), dir: dir, disk: record(t, dir), synchronous: synchronous, rng: rand.New(rand.NewPCG(seed, 0)),
	}
	require.NoError(t, l.run())
	require.Greater(t, len(l.facts), powerCutSteps/2)
	return l
}

// TestPowerCut records SQLite's writes and flushes while a store is made, used, closed and used
// again. It rebuilds the possible remains of a power cut, at many moments, opens each with a store,
// and looks for the writes acknowledged before.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	seed, cuts := fromEnv(t, powerSeedEnv, 1), fromEnv(
		t, powerCutsEnv, uint64(extenttest.Sized(manyPowerCuts, powerCuts)),
	)
	t.Logf("%s=%d %s=%d", powerSeedEnv, seed, powerCutsEnv, cuts)
	l := newPowerLoad(t, seed, "FULL")
	for i := range cuts {
		rng := rand.New(rand.NewPCG(seed, i+1))
		at := rng.IntN(len(l.disk.log) + 1)
		require.NoError(
			t, l.survives(t.TempDir(), at, rng), "cut %d, after %d of %d operations of the disk, seed %d", i, at,
			len(l.disk.log), seed,
		)
	}
}

// The test finds its target: a store that acknowledges without flushing loses something.
func TestPowerCutFindsWhatIsNotFlushed(t *testing.T) {
	t.Parallel()
	l := newPowerLoad(t, 1, "NORMAL")
	for i := range uint64(manyPowerCuts) {
		rng := rand.New(rand.NewPCG(1, i+1))
		if err := l.survives(t.TempDir(), rng.IntN(len(l.disk.log)+1), rng); err != nil {
			t.Logf("cut %d: %v", i, err)
			return
		}
	}
	require.Fail(t, "nothing was lost")
}
