package cruster_test

import (
	_ "embed"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

//go:embed deadlock_test.go
var deadlockSource []byte

// deadlocks has a coroutine for each way to wait for ever.
var deadlocks = cruster.NewWorkflow("test.deadlocks", func(ctx cruster.Context, _ int) (int, error) {
	channel, full := cruster.NewChannel[int](0), cruster.NewChannel[int](0)
	busy, held := cruster.NewSemaphore(1), &cruster.WaitGroup{}
	if err := busy.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	held.Add(1)
	receiving := cruster.Go(ctx, func(ctx cruster.Context) error { // line "receiving"
		_, _, err := channel.Receive(ctx) // line "channel"
		return err
	})
	cruster.Go(ctx, func(ctx cruster.Context) error { return full.Send(ctx, 1) })    // line "send"
	cruster.Go(ctx, func(ctx cruster.Context) error { return busy.Acquire(ctx, 1) }) // line "acquire"
	cruster.Go(ctx, func(ctx cruster.Context) error { return held.Wait(ctx) })       // line "wait"
	never := func() bool { return false }
	cruster.Go(ctx, func(ctx cruster.Context) error { return cruster.WaitUntil(ctx, never) }) // line "until"
	return awaitNever(ctx, receiving)
})

func awaitNever(ctx cruster.Context, f cruster.Future[cruster.None]) (int, error) {
	_, err := f.Await(ctx) // line "await"
	return 0, err
}

// lineOf finds the line of this file that has a mark, as reports show it.
func lineOf(t *testing.T, source []byte, mark string) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	dir := file[:strings.LastIndexByte(file, '/')]
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(line, `// line "`+mark+`"`) {
			return dir[strings.LastIndexByte(dir, '/')+1:] + "/deadlock_test.go:" + strconv.Itoa(i+1)
		}
	}
	t.Fatal("no line " + mark)
	return ""
}

func TestADeadlockShowsTheAuthorsLines(t *testing.T) {
	t.Parallel()
	at := func(mark string) string { return lineOf(t, deadlockSource, mark) }
	_, _, err := run(t, deadlocks, 0)
	require.Equal(t, string(abi.CodeGuestDeadlock), cruster.ErrorCode(err))
	require.ErrorContains(t, err, "deadlock: every task waits and nothing is pending: "+strings.Join([]string{
		"coroutine 0, the workflow itself, waits for coroutine 1 at " + at("await"),
		"coroutine 1, begun at " + at("receiving") + ", waits for a channel at " + at("channel"),
		"coroutine 2, begun at " + at("send") + ", waits for room in a channel at " + at("send"),
		"coroutine 3, begun at " + at("acquire") + ", waits for a semaphore at " + at("acquire"),
		"coroutine 4, begun at " + at("wait") + ", waits for a wait group at " + at("wait"),
		"coroutine 5, begun at " + at("until") + ", waits for a condition at " + at("until"),
	}, "; "))
}

// stuckCrowd has more coroutines than a report lists.
var stuckCrowd = cruster.NewWorkflow("test.stuckCrowd", func(ctx cruster.Context, n int) (int, error) {
	items := make([]int, n)
	_, err := cruster.Map(ctx, items, n, func(ctx cruster.Context, _ int) (int, error) {
		v, _, err := cruster.NewChannel[int](0).Receive(ctx)
		return v, err
	})
	return 0, err
})

func TestADeadlockOfManyIsCut(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, stuckCrowd, 100)
	require.ErrorContains(t, err, "coroutine 0, the workflow itself, waits for ")
	require.ErrorContains(t, err, "; and 81 more")
	require.NotContains(t, err.Error(), "internal/guest")
	require.NotContains(t, err.Error(), "map.go")
}
