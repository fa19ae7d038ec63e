package recovery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// world is a store with due executions, and takes the findings of recovery. Its clock can be set.
type world struct {
	clockwork.Clock
	offset atomic.Int64

	mu     sync.Mutex
	due    []journal.Wake       // guarded by mu; in order
	fail   int                  // guarded by mu; how often the store fails
	woken  []journal.ID         // guarded by mu
	timers map[journal.ID]int64 // guarded by mu
	room   int                  // guarded by mu
	held   map[journal.ID]bool  // guarded by mu; in memory already

	receivers []journal.ID // guarded by mu; they have results, in order
	told      []journal.ID // guarded by mu; to look for results
}

// MailReceivers implements MailReader.
func (w *world) MailReceivers(_ context.Context, after journal.ID, limit int) (page []journal.ID, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.receivers {
		if string(id[:]) > string(after[:]) && len(page) < limit {
			page = append(page, id)
		}
	}
	return page, nil
}

func (w *world) wakeForMail(id journal.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, id)
	w.receivers = slices.DeleteFunc(w.receivers, func(other journal.ID) bool { return other == id })
}

func (w *world) toldIDs() []journal.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.told)
}

func (w *world) Now() time.Time { return time.Now().Round(0).Add(time.Duration(w.offset.Load())) }

func (w *world) Due(_ context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail > 0 {
		w.fail--
		return nil, errors.New("no connection")
	}
	first := sort.Search(len(w.due), func(n int) bool {
		d := w.due[n]
		return d.At > after.At || d.At == after.At && string(d.ID[:]) > string(after.ID[:])
	})
	var page []journal.Wake
	for _, d := range w.due[first:] {
		if d.At > until || len(page) == limit {
			break
		}
		page = append(page, d)
	}
	return page, nil
}

func (w *world) InMemory(id journal.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[id]
}

func (w *world) EnsureInMemory(id journal.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.woken = append(w.woken, id)
	w.room--
}

func (w *world) Has(id journal.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.timers[id] != 0
}

func (w *world) Open(int64) {}

func (w *world) Fill(id journal.ID, at int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timers[id] == 0 {
		w.timers[id] = at
	}
	return true
}

func (w *world) NextFill() int64 { return journal.Never }

func (w *world) hasRoom() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.room > 0
}

func (w *world) wokenIDs() []journal.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]journal.ID(nil), w.woken...)
}

func (w *world) scanner() *Scanner {
	return &Scanner{
		Clock: w, Executions: w, HasRoom: w.hasRoom, Logger: slog.New(slog.DiscardHandler), Store: w, Timers: w,
		Mail: w, WakeForMail: w.wakeForMail,
	}
}

// in runs a test in virtual time, with recovery running beside it.
func in(t *testing.T, w *world, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		w.Clock = clockwork.NewRealClock()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.scanner().Run(ctx) })
		synctest.Wait()
		test(t)
		cancel()
		running.Wait()
	})
}

func wakeIn(n byte, d time.Duration) journal.Wake {
	// A synctest bubble begins at this time.
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return journal.Wake{ID: journal.ID{n}, At: start.Add(d).UnixNano()}
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	w := &world{room: 100, timers: map[journal.ID]int64{}, due: []journal.Wake{
		{ID: journal.ID{1}, At: journal.Now},
		wakeIn(2, -time.Hour), wakeIn(3, time.Minute),
		wakeIn(4, timer.Horizon+time.Second),
	}}
	in(t, w, func(t *testing.T) {
		require.Equal(t, []journal.ID{{1}, {2}}, w.wokenIDs(), "what is due is loaded, the earliest first")
		require.True(t, w.Has(journal.ID{3}), "what is due soon gets a timer")
		require.False(t, w.Has(journal.ID{4}), "the rest is left to the store")
		time.Sleep(scanEvery)
		synctest.Wait()
		require.True(t, w.Has(journal.ID{4}), "until it comes near")
	})
}

// TestRecoveryOfManyPages has more executions due than fit into a page, all at the same time.
func TestRecoveryOfManyPages(t *testing.T) {
	t.Parallel()
	w := &world{room: 1 << 30, timers: map[journal.ID]int64{}}
	for i := range 2*scanPage + 1 {
		w.due = append(w.due, journal.Wake{ID: journal.ID{byte(i >> 8), byte(i), 1}})
	}
	in(t, w, func(t *testing.T) { require.Len(t, w.wokenIDs(), 2*scanPage+1) })
}

// TestRecoveryWaitsForRoom is recovery on a host that is full.
func TestRecoveryWaitsForRoom(t *testing.T) {
	t.Parallel()
	w := &world{
		room: 1, timers: map[journal.ID]int64{}, due: []journal.Wake{wakeIn(1, -time.Hour), wakeIn(2, -time.Minute)},
	}
	in(t, w, func(t *testing.T) {
		require.Equal(t, []journal.ID{{1}}, w.wokenIDs())
		w.mu.Lock()
		w.room = 1
		w.mu.Unlock()
		time.Sleep(roomPoll)
		synctest.Wait()
		require.Equal(t, []journal.ID{{1}, {2}}, w.wokenIDs())
	})
}

// TestFullHostHoldsUpNothing is recovery on a host that stays full: timers are set, also those of
// executions that come near later, executions in memory are woken, and the overdue ones one by one.
func TestFullHostHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w := &world{timers: map[journal.ID]int64{}, held: map[journal.ID]bool{{2}: true}}
	for n := range 300 {
		w.due = append(w.due, journal.Wake{ID: journal.ID{1, byte(n >> 8), byte(n)}, At: journal.Now})
	}
	w.due = append(w.due, wakeIn(2, -time.Minute), wakeIn(3, time.Minute), wakeIn(4, timer.Horizon+time.Minute))
	in(t, w, func(t *testing.T) {
		require.Equal(t, []journal.ID{{2}}, w.wokenIDs())
		require.True(t, w.Has(journal.ID{3}))
		time.Sleep(2 * scanEvery)
		synctest.Wait()
		require.True(t, w.Has(journal.ID{4}), "the scan for timers does not wait for the other")
		require.Greater(t, len(w.wokenIDs()), 100)
		time.Sleep(300 * roomPatience)
		synctest.Wait()
		for _, due := range w.due[:301] {
			require.Contains(t, w.wokenIDs(), due.ID)
		}
	})
}

// TestResultsWaitForNoOverdueRow is recovery on a host that stays full, with hundreds of executions that are overdue.
// Callers that have results are told beside: at once if they are in memory, and if not as soon as the first of the
// overdue is brought back.
func TestResultsWaitForNoOverdueRow(t *testing.T) {
	t.Parallel()
	w := &world{timers: map[journal.ID]int64{}, held: map[journal.ID]bool{{9}: true}, receivers: []journal.ID{{8}, {9}}}
	for n := range 300 {
		w.due = append(w.due, journal.Wake{ID: journal.ID{1, byte(n >> 8), byte(n)}, At: journal.Now})
	}
	in(t, w, func(t *testing.T) {
		require.Equal(t, []journal.ID{{9}}, w.toldIDs())
		time.Sleep(2 * roomPatience)
		synctest.Wait()
		require.Equal(t, []journal.ID{{9}, {8}}, w.toldIDs())
		require.Less(t, len(w.wokenIDs()), 10)
	})
}

// TestResultsOfManyPages has more callers with results than fit into a page.
func TestResultsOfManyPages(t *testing.T) {
	t.Parallel()
	w := &world{room: 1 << 30, timers: map[journal.ID]int64{}}
	for i := range 2*scanPage + 1 {
		w.receivers = append(w.receivers, journal.ID{byte(i >> 8), byte(i), 1})
	}
	in(t, w, func(t *testing.T) { require.Len(t, w.toldIDs(), 2*scanPage+1) })
}

// TestInMemoryComesFirst has an execution that is in memory on a page behind many that are not, on a host that stays
// full.
func TestInMemoryComesFirst(t *testing.T) {
	t.Parallel()
	w := &world{timers: map[journal.ID]int64{}, held: map[journal.ID]bool{{2}: true}}
	for n := range scanPage {
		w.due = append(w.due, journal.Wake{ID: journal.ID{1, byte(n >> 8), byte(n)}, At: journal.Now})
	}
	w.due = append(w.due, wakeIn(2, -time.Minute))
	in(t, w, func(t *testing.T) { require.Equal(t, []journal.ID{{2}}, w.wokenIDs()) })
}

// TestRecoveryPassesWhatIsInMemory does not wait for room for an execution that has it, and leaves the timer that one
// has set itself.
func TestRecoveryPassesWhatIsInMemory(t *testing.T) {
	t.Parallel()
	w := &world{
		timers: map[journal.ID]int64{{2}: 5}, held: map[journal.ID]bool{{1}: true},
		due: []journal.Wake{wakeIn(1, -time.Hour), wakeIn(2, time.Minute), wakeIn(3, time.Minute)},
	}
	in(t, w, func(t *testing.T) {
		require.Equal(t, []journal.ID{{1}}, w.wokenIDs())
		w.mu.Lock()
		defer w.mu.Unlock()
		require.EqualValues(t, 5, w.timers[journal.ID{2}])
		require.Equal(t, wakeIn(3, time.Minute).At, w.timers[journal.ID{3}])
	})
}

func TestRecoverySurvivesTheStore(t *testing.T) {
	t.Parallel()
	w := &world{room: 100, fail: 3, timers: map[journal.ID]int64{}, due: []journal.Wake{wakeIn(1, -time.Hour)}}
	in(t, w, func(t *testing.T) {
		require.Empty(t, w.wokenIDs())
		time.Sleep(3 * scanRetry)
		synctest.Wait()
		require.Equal(t, []journal.ID{{1}}, w.wokenIDs())
	})
}

// TestSuspendedMachine finds executions that became due during a suspension soon after it, and not
// with the next regular scan.
func TestSuspendedMachine(t *testing.T) {
	t.Parallel()
	w := &world{room: 100, timers: map[journal.ID]int64{}, due: []journal.Wake{wakeIn(1, 8*time.Hour)}}
	in(t, w, func(t *testing.T) {
		time.Sleep(7 * time.Second)
		require.Empty(t, w.wokenIDs())
		w.offset.Store(int64(10 * time.Hour))
		time.Sleep(lookEvery)
		synctest.Wait()
		require.Equal(t, []journal.ID{{1}}, w.wokenIDs())
	})
}

// TestClockSetBack has the scans go on after a clock that was ahead by a year was set right.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	w := &world{room: 100, timers: map[journal.ID]int64{}}
	w.offset.Store(int64(365 * 24 * time.Hour))
	in(t, w, func(t *testing.T) {
		time.Sleep(time.Second)
		w.offset.Store(0)
		w.mu.Lock()
		w.due = []journal.Wake{wakeIn(1, -time.Hour)}
		w.mu.Unlock()
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		require.Equal(t, []journal.ID{{1}}, w.wokenIDs())
	})
}

// TestMoreThanTheTimersHold has more executions due at one time than there may be timers, and some after that: all are
// woken at their time, by a timer or by the scan, and none before.
func TestMoreThanTheTimersHold(t *testing.T) {
	t.Parallel()
	many := 2*timer.MaxLeft + scanPage/2
	w := &world{room: 1 << 30}
	for n := range many {
		due := wakeIn(0, time.Minute)
		due.ID = journal.ID{byte(n >> 16), byte(n >> 8), byte(n), 1}
		w.due = append(w.due, due)
	}
	w.due = append(w.due, wakeIn(9, 61*time.Second), wakeIn(10, 90*time.Second))
	synctest.Test(t, func(t *testing.T) {
		w.Clock = clockwork.NewRealClock()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		timers := timer.New(w, w.EnsureInMemory, nil)
		recovery := w.scanner()
		recovery.Timers = timers
		running.Go(func() { timers.Run(ctx) })
		running.Go(func() { recovery.Run(ctx) })
		time.Sleep(time.Minute - time.Millisecond)
		synctest.Wait()
		require.Empty(t, w.wokenIDs())
		require.True(t, timers.Has(w.due[0].ID))
		require.False(t, timers.Has(w.due[many-1].ID), "the store has it")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		woken := map[journal.ID]bool{}
		for _, id := range w.wokenIDs() {
			woken[id] = true
		}
		require.Len(t, woken, many)
		require.NotContains(t, woken, journal.ID{9})
		time.Sleep(time.Second)
		synctest.Wait()
		require.Contains(t, w.wokenIDs(), journal.ID{9})
		require.NotContains(t, w.wokenIDs(), journal.ID{10})
		time.Sleep(29 * time.Second)
		synctest.Wait()
		require.Contains(t, w.wokenIDs(), journal.ID{10})
		cancel()
		running.Wait()
	})
}
