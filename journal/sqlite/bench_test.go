package sqlite_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
	"github.com/cruster/cruster/journal/storetest"
)

// BenchmarkCommit measures batches of the writes of n executions. As in a busy host, 64 are alive at a time, each is
// started, has ten entries and ends with the last of them, and the entries of earlier ones stay in the tables. The
// price of a write is also given in CPU time, which other processes of the machine change less.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := open(b, sqlite.Config{Dir: b.TempDir()})
			fences, err := store.ClaimShards(b.Context(), "bench")
			require.NoError(b, err)
			alive := make([]life, 64)
			for i := range alive {
				alive[i].number = i
				for !alive[i].started || alive[i].seq < uint64(i%10) { // so that not all of them start at once
					commitLives(b, store, fences, alive[i:i+1])
				}
			}
			next := 0
			var longest time.Duration
			before := cpuTime(b)
			for b.Loop() {
				begin := time.Now()
				commitLives(b, store, fences, alive[next:next+n])
				longest = max(longest, time.Since(begin))
				next = (next + n) % len(alive)
			}
			writes := float64(b.N * n)
			b.ReportMetric(float64(cpuTime(b)-before)/writes, "cpu-ns/write")
			b.ReportMetric(float64(b.Elapsed())/writes, "ns/write")
			b.ReportMetric(float64(longest), "ns-longest")
		})
	}
}

// BenchmarkCommitter has n executions commit their writes one after the other, all at once, and tells how many share a
// transaction.
func BenchmarkCommitter(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := open(b, sqlite.Config{Dir: b.TempDir()})
			fences, err := store.ClaimShards(b.Context(), "bench")
			require.NoError(b, err)
			committer := journal.NewCommitter(store, journal.CommitterOptions{})
			defer committer.Stop()
			b.ResetTimer()
			transactions, before := store.Commits(), cpuTime(b)
			var left atomic.Int64
			left.Store(int64(b.N))
			var group errgroup.Group
			for i := range n {
				group.Go(func() error {
					l := life{number: i}
					for left.Add(-1) >= 0 {
						if _, err := committer.Commit(b.Context(), l.next(fences)); err != nil {
							return err
						}
					}
					return nil
				})
			}
			require.NoError(b, group.Wait())
			b.ReportMetric(float64(b.N)/float64(store.Commits()-transactions), "writes/commit")
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/write")
		})
	}
}

// life is an execution of a benchmark: how many entries it has.
type life struct {
	number  int
	started bool
	seq     uint64
}

// next is the write that brings the execution one step further; after the last it is another one.
func (l *life) next(fences []journal.Fence) journal.Write {
	key := fmt.Sprint("order-", l.number)
	id := journal.IDOf("default", "load/Sequential", key)
	w := journal.Write{ID: id, Run: journal.RunID(id), Fence: fences[id.Shard()]}
	if !l.started {
		l.started = true
		w.Start = &journal.Execution{
			ID:        id,
			Run:       w.Run,
			Namespace: "default",
			Workflow:  "load/Sequential",
			Key:       key,
			State:     journal.Running,
			CreatedAt: int64(l.number),
			Digest:    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
			Input:     abi.Nil,
		}
		return w
	}
	l.seq++
	w.Entries = []journal.Entry{{
		Seq: l.seq, At: 1, Kind: journal.Delivery, Turn: l.seq, Value: abi.Nil, Attempts: 1,
		Op: journal.Op{
			Hash: make([]byte, 16), Kind: "activity", Name: "step", Number: uint32(l.seq), Occurrence: uint32(l.seq),
		},
	}}
	if l.seq == 10 {
		w.Update = &journal.Update{State: journal.Completed, Value: abi.Nil, FinishedAt: int64(l.number)}
		*l = life{number: l.number + 64}
	}
	return w
}

func commitLives(b *testing.B, store *sqlite.Store, fences []journal.Fence, lives []life) {
	writes := make([]journal.Write, len(lives))
	for i := range lives {
		writes[i] = lives[i].next(fences)
	}
	results, err := store.Commit(b.Context(), writes)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil || r.Existed {
			b.Fatal(r)
		}
	}
}

// cpuTime returns the processor time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkGuest is an activity with one statement.
func BenchmarkGuest(b *testing.B) {
	store, writes := benchmarkStore(b, 1)
	m := journal.Module{Digest: "sha256:1"}
	d := journal.Deployment{Namespace: "mine", Name: "bank", Digest: m.Digest}
	_, err := store.Deploy(b.Context(), writes[0].Fence, m, d, []abi.Migration{{
		Version: 1,
		SQL:     "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER); INSERT INTO accounts VALUES (1, 0)",
	}})
	require.NoError(b, err)
	for seq := uint64(1); b.Loop(); seq++ {
		w := writes[0]
		w.Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery}}
		require.NoError(b, transfer(b.Context(), store, w))
	}
}

func benchmarkStore(b *testing.B, n int) (*sqlite.Store, []journal.Write) {
	store := open(b, sqlite.Config{Dir: b.TempDir()})
	fences, err := store.ClaimShards(b.Context(), "bench")
	require.NoError(b, err)
	writes := make([]journal.Write, n)
	for i := range writes {
		id := journal.IDOf("mine", "w/W", fmt.Sprint(i))
		writes[i] = journal.Write{
			ID:    id,
			Run:   journal.RunID(id),
			Fence: fences[id.Shard()],
			Start: &journal.Execution{ID: id, Run: journal.RunID(id), State: journal.Running},
		}
	}
	results, err := store.Commit(b.Context(), writes)
	require.NoError(b, err)
	for i := range results {
		require.NoError(b, results[i].Err)
		writes[i].Start = nil
	}
	return store, writes
}

// BenchmarkMessage has n executions receive a message each, and take it in the next turn: two writes each. Before that
// each has so many messages.
func BenchmarkMessage(b *testing.B) {
	for _, c := range []struct{ executions, before int }{{1, 0}, {64, 0}, {1, 1000}, {1, 9000}} {
		b.Run(fmt.Sprintf("%d/%d", c.executions, c.before), func(b *testing.B) {
			store, writes := benchmarkStore(b, c.executions)
			n := uint32(0)
			message := func() *journal.Message {
				n++
				m := &journal.Message{
					Envelope: journal.Envelope{Kind: journal.SignalMessage, Name: "paid", Bytes: 1}, Value: abi.Nil,
				}
				binary.BigEndian.PutUint32(m.Origin[:], n)
				return m
			}
			for _, w := range writes {
				for range c.before {
					w.Send = append(w.Send, journal.Sent{To: w.ID, Message: *message()})
				}
				_, err := store.Commit(b.Context(), []journal.Write{w})
				require.NoError(b, err)
			}
			begin := cpuTime(b)
			for seq := uint64(1); b.Loop(); seq++ {
				received, taken := slices.Clone(writes), slices.Clone(writes)
				for i := range received {
					received[i].Receive = message()
				}
				results, err := store.Commit(b.Context(), received)
				require.NoError(b, err)
				for i := range taken {
					taken[i].Take = []uint64{results[i].Position}
					taken[i].Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery, Value: abi.Nil}}
					taken[i].Update = &journal.Update{State: journal.Running, WakeAt: journal.Never}
				}
				results, err = store.Commit(b.Context(), taken)
				require.NoError(b, err)
				require.NoError(b, results[0].Err)
			}
			b.ReportMetric(float64(cpuTime(b)-begin)/float64(b.N*c.executions), "cpu-ns/message")
		})
	}
}

// BenchmarkEntity has n entities leave a state and a receipt each.
func BenchmarkEntity(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := open(b, sqlite.Config{Dir: b.TempDir()})
			fences, err := store.ClaimShards(b.Context(), "bench")
			require.NoError(b, err)
			writes := make([]journal.Write, n)
			for i := range writes {
				e := &journal.Entity{
					Namespace: "default", Type: "bank/Account", Key: fmt.Sprint(i), State: make([]byte, 200),
				}
				e.ID = journal.EntityID(e.Namespace, e.Type, e.Key)
				writes[i] = journal.Write{ID: e.ID, Fence: fences[e.ID.Shard()], Entity: e}
			}
			begin := cpuTime(b)
			for operation := uint32(1); b.Loop(); operation++ {
				for i := range writes {
					r := journal.Receipt{At: int64(operation), Value: abi.Nil}
					binary.BigEndian.PutUint32(r.Origin[:], operation)
					writes[i].Receipts = []journal.Receipt{r}
				}
				results, err := store.Commit(b.Context(), writes)
				require.NoError(b, err)
				require.NoError(b, results[0].Err)
			}
			b.ReportMetric(float64(cpuTime(b)-begin)/float64(b.N*n), "cpu-ns/operation")
		})
	}
}

// BenchmarkContinue has a run with n entries continue, which deletes them. Longest is how long
// another commit waits that comes meanwhile.
func BenchmarkContinue(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := open(b, sqlite.Config{Dir: b.TempDir()})
			fences, err := store.ClaimShards(b.Context(), "bench")
			require.NoError(b, err)
			storetest.BenchmarkContinue(b, store, fences, n)
		})
	}
}
