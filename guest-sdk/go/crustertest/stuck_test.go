package crustertest_test

import (
	"embed"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

//go:embed *_test.go
var sources embed.FS

// lineOf finds the line of a file of these tests that has a mark, as reports show it.
func lineOf(t *testing.T, file, mark string) string {
	t.Helper()
	source, err := sources.ReadFile(file)
	require.NoError(t, err)
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(line, "// line: "+mark) {
			return fmt.Sprintf("crustertest/%s:%d", file, i+1)
		}
	}
	t.Fatal("no line " + mark)
	return ""
}

func stuckLine(t *testing.T, mark string) string {
	t.Helper()
	return lineOf(t, "stuck_test.go", mark)
}

// Blockers of workflows; the tests release them.
var (
	stuckLock    sync.Mutex
	stuckReaders sync.RWMutex
	stuckChannel chan int
	stuckGroup   sync.WaitGroup
)

var hangs = cruster.NewWorkflow("stuckHangs", func(ctx cruster.Context, on string) (string, error) {
	if err := cruster.Sleep(ctx, time.Hour); err != nil {
		return "", err
	}
	switch on {
	case "lock":
		stuckLock.Lock() // line: lock
		stuckLock.Unlock()
	case "readers":
		stuckReaders.RLock() // line: readers
		stuckReaders.RUnlock()
	case "channel":
		<-stuckChannel // line: channel
	case "group":
		stuckGroup.Wait() // line: group
	}
	return on, nil
})

// A workflow that waits for something no one releases fails long before its limit, and says which
// lines wait.
func TestHangingWorkflows(
	t *testing.T,
) { //nolint:paralleltest // tests beside it could let go of the locks, for all that the kit knows
	stuckLock.Lock()
	stuckReaders.Lock()
	stuckGroup.Add(1)
	stuckChannel = make(chan int)
	for _, c := range []struct{ on, state string }{
		{"lock", "sync.Mutex.Lock"},
		{"readers", "sync.RWMutex.RLock"},
		{"channel", "chan receive"},
		{"group", "sync.WaitGroup.Wait"},
	} {
		_, err := crustertest.Run(t, hangs, c.on, crustertest.TurnLimit(time.Hour))
		require.Regexp(
			t,
			`^CR-4012: deadlock: every task waits and nothing is pending: goroutine \d+, in .*crustertest_test\.init\.func\d+, waits \(`+c.state+
				`\) at `+stuckLine(t, c.on)+`$`,
			err,
		)
	}
	stuckLock.Unlock()
	stuckReaders.Unlock()
	close(stuckChannel)
	stuckGroup.Done()
}

// loops until it is told to end.
var loops = cruster.NewWorkflow("stuckLoops", func(cruster.Context, cruster.None) (int, error) {
	for !loopEnds.Load() {
	}
	return 0, nil
})

// loopsLater does so while it waits for something.
var loopsLater = cruster.NewWorkflow("stuckLoopsLater", func(ctx cruster.Context, _ cruster.None) (int, error) {
	cruster.Timer(ctx, time.Hour)
	if err := cruster.Sleep(ctx, time.Minute); err != nil {
		return 0, err
	}
	for !loopEnds.Load() {
	}
	return 0, nil
})

var loopEnds atomic.Bool

// A workflow that computes is no deadlock. It fails after its limit, as on a host.
func TestLoopingWorkflow(t *testing.T) {
	t.Parallel()
	loopEnds.Store(false)
	defer loopEnds.Store(true)
	_, err := crustertest.Run(t, loops, cruster.None{}, crustertest.TurnLimit(2*time.Second))
	require.Regexp(
		t,
		`^CR-4005: the module did not return from its turn before its deadline \(in .*init\.func\d+ crustertest/stuck_test\.go:\d+\)$`,
		err,
	)
	_, err = crustertest.Run(t, loopsLater, cruster.None{}, crustertest.TurnLimit(2*time.Second))
	require.Regexp(
		t, `^CR-4005: .*crustertest/stuck_test\.go:\d+\); pending: sleep 1h0m0s \(op 2\)$`, err,
		"and says what is pending",
	)
}

var lent sync.Mutex

var borrows = cruster.NewWorkflow("stuckBorrows", func(cruster.Context, cruster.None) (int, error) {
	lent.Lock()
	defer lent.Unlock()
	return 1, nil
})

// A lock that a goroutine of the test lets go of is waited for.
func TestBorrowedLock(t *testing.T) {
	t.Parallel()
	lent.Lock()
	waits := func() bool {
		stacks := make([]byte, 1<<20)
		return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "sync.Mutex.Lock, synctest bubble")
	}
	var helper sync.WaitGroup
	helper.Go(func() {
		for looks := 0; looks < 100; {
			if waits() {
				looks++
			}
			runtime.Gosched()
		}
		lent.Unlock()
	})
	got, err := crustertest.Run(t, borrows, cruster.None{}, crustertest.TurnLimit(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, got)
	helper.Wait()
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, crashes, cruster.None{})
	require.Equal(t, "CR-4007", cruster.ErrorCode(err), "%v", err)
	require.ErrorContains(t, err, ": the module crashed: panic: kaboom (in ")
	require.ErrorContains(t, err, "crustertest_test.crashHere "+stuckLine(t, "crash")+" < ")
	require.True(t, strings.HasSuffix(err.Error(), stuckLine(t, "crashes")+")"), "%v", err)
	require.NotContains(t, err.Error(), "\n")
}

var crashes = cruster.NewWorkflow("stuckCrashes", func(cruster.Context, cruster.None) (int, error) {
	crashHere() // line: crashes
	return 0, nil
})

func crashHere() {
	panic("kaboom") // line: crash
}

var moody = cruster.NewStatefulEntity[int]("StuckMoody")

var sulk = cruster.NewOperation(moody, "sulk", func(*cruster.EntityContext, *int, cruster.None) (int, error) {
	panic("unlucky") // line: sulk
})

func TestOperationCrashes(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Call(crustertest.NewEntities(t), sulk, "a", cruster.None{})
	require.ErrorContains(t, err, `operation "sulk": the module crashed: panic: unlucky (in `)
	require.ErrorContains(t, err, stuckLine(t, "sulk"))
	require.NotContains(t, err.Error(), "\n")
}

var (
	twice    atomic.Pointer[sync.Mutex]
	stuckKey = cruster.NewWorkflow(
		"stuckKeyed", func(cruster.Context, string) (int, error) { return 1, nil }, cruster.RawKey(keyOf),
	)
	stuckQuery  = cruster.NewQuery[cruster.None, int]("stuckQuery")
	stuckAnswer = cruster.NewWorkflow("stuckAnswered", func(ctx cruster.Context, _ cruster.None) (int, error) {
		stuckQuery.Handle(ctx, func(cruster.None) (int, error) {
			lockTwice()
			return 1, nil
		})
		return 1, cruster.Sleep(ctx, time.Hour)
	}).Answers(stuckQuery)
)

func lockTwice() {
	lock := twice.Load()
	lock.Lock()
	lock.Lock()
}

// lockAnew releases the lock taken twice when the test ends.
func lockAnew(t *testing.T) {
	lock := new(sync.Mutex)
	twice.Store(lock)
	t.Cleanup(lock.Unlock)
}

func keyOf(how string) string {
	if how == "lock" {
		lockTwice()
	}
	panic("no key")
}

// A hang in a key function, or in the answer to a query, is detected as well, and the test goes on.
func TestHangingKeysAndAnswers(t *testing.T) { //nolint:paralleltest // as above
	lockAnew(t)
	_, err := crustertest.Run(t, stuckKey, "lock")
	require.Regexp(
		t,
		`^CR-2017: the key function of "stuckKeyed" failed: deadlock: .*\.lockTwice, waits \(sync\.Mutex\.Lock\) at crustertest/stuck_test\.go:\d+`,
		err,
	)
	_, err = crustertest.Run(t, stuckKey, "panic")
	require.Regexp(
		t,
		`^CR-2017: the key function of stuckKeyed panicked: no key \(in [^ ]*\.keyOf crustertest/stuck_test\.go:\d+\)$`,
		err,
	)

	lockAnew(t)
	var answer error
	_, err = crustertest.Run(
		t, stuckAnswer, cruster.None{},
		crustertest.QueryAfter(time.Minute, stuckQuery, cruster.None{}, func(_ int, err error) { answer = err }),
	)
	require.ErrorContains(t, answer, "CR-4012: deadlock: ")
	require.ErrorContains(t, err, "CR-4012: deadlock: ", "the workflow has no place to go on in")
}

// A panic in the answer to a query shows its line, and the workflow goes on.
func TestPanickingAnswer(t *testing.T) {
	t.Parallel()
	var answer error
	got, err := crustertest.Run(
		t, panicsAsked, cruster.None{},
		crustertest.QueryAfter(time.Minute, stuckQuery, cruster.None{}, func(_ int, err error) { answer = err }),
	)
	require.NoError(t, err)
	require.Equal(t, 1, got)
	require.Regexp(t, `the answer panicked: no answer \(in .*crustertest/stuck_test\.go:\d+`, answer)
}

var panicsAsked = cruster.NewWorkflow("stuckPanics", func(ctx cruster.Context, _ cruster.None) (int, error) {
	stuckQuery.Handle(ctx, func(cruster.None) (int, error) { panic("no answer") })
	return 1, cruster.Sleep(ctx, time.Hour)
}).Answers(stuckQuery)
