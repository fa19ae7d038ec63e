package cruster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var interleaving = cruster.NewWorkflow("test.interleaving", func(ctx cruster.Context, n int) ([]string, error) {
	var trace []string
	futures := make([]cruster.Future[cruster.None], n)
	for i := range futures {
		futures[i] = cruster.Go(ctx, func(ctx cruster.Context) error {
			for step := range 2 {
				trace = append(trace, fmt.Sprintf("%d.%d", i, step))
				if err := cruster.Sleep(ctx, time.Duration(n-i)*time.Second); err != nil {
					return err
				}
			}
			return nil
		})
	}
	trace = append(trace, "spawned")
	_, err := cruster.All(ctx, futures...)
	return trace, err
})

func TestCoroutinesTakeTurnsInOrder(t *testing.T) {
	t.Parallel()
	trace, h, err := run(t, interleaving, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"spawned", "0.0", "1.0", "2.0", "2.1", "1.1", "0.1"}, trace)
	require.Equal(t, 6*time.Second, h.Duration())
}

func TestThousandCoroutines(t *testing.T) {
	t.Parallel()
	trace, _, err := run(t, interleaving, 1000)
	require.NoError(t, err)
	require.Len(t, trace, 2001)
	require.Equal(t, "spawned", trace[0])
}

var nesting = cruster.NewWorkflow("test.nesting", func(ctx cruster.Context, depth int) (int, error) {
	return nest(ctx, depth)
})

func nest(ctx cruster.Context, depth int) (int, error) {
	if depth == 0 {
		return 1, cruster.Sleep(ctx, time.Second)
	}
	left := cruster.Async(ctx, func(ctx cruster.Context) (int, error) { return nest(ctx, depth-1) })
	right := cruster.Async(ctx, func(ctx cruster.Context) (int, error) { return nest(ctx, depth-1) })
	sums, err := cruster.All(ctx, left, right)
	return sums[0] + sums[1], err
}

func TestNestedCoroutines(t *testing.T) {
	t.Parallel()
	sum, h, err := run(t, nesting, 6)
	require.NoError(t, err)
	require.Equal(t, 64, sum)
	require.Equal(t, time.Second, h.Duration())
}

var cancelling = cruster.NewWorkflow("test.cancelling", func(ctx cruster.Context, _ int) (string, error) {
	timer := cruster.Timer(ctx, time.Hour)
	other := cruster.Go(ctx, func(ctx cruster.Context) error {
		_, err := timer.Await(ctx)
		return err
	})
	if err := cruster.Sleep(ctx, time.Second); err != nil {
		return "", err
	}
	timer.Cancel(ctx)
	timer.Cancel(ctx)
	_, err := other.Await(ctx)
	return fmt.Sprint(err), nil
})

func TestCancelWakesWaiters(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, cancelling, 0)
	require.NoError(t, err)
	require.Equal(t, cruster.ErrCanceled.Error(), got)
	require.Equal(t, time.Second, h.Duration())
}

// foreignContext uses its context in a goroutine or coroutine that the context was not given to.
var foreignContext = cruster.NewWorkflow("test.foreignContext", func(ctx cruster.Context, mode string) (string, error) {
	var refusal string
	sleepOnForeignContext := func() {
		defer func() { refusal = fmt.Sprint(recover()) }()
		_ = cruster.Sleep(ctx, time.Hour)
	}
	cruster.Go(ctx, func(cruster.Context) error {
		if mode == "coroutine" {
			sleepOnForeignContext()
			return nil
		}
		caught := make(chan struct{})
		go func() {
			defer close(caught)
			sleepOnForeignContext()
		}()
		<-caught
		return nil
	})
	err := cruster.Sleep(ctx, time.Second)
	return refusal, err
})

func TestDurableCallsOnAForeignContextAreRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"goroutine", "coroutine"} {
		got, _, err := run(t, foreignContext, mode)
		require.NoError(t, err)
		require.Contains(t, got, string(abi.CodeGuestGoroutine))
		require.Contains(t, got, "cruster.Go")
	}
}

var stalling = cruster.NewWorkflow("test.stalling", func(ctx cruster.Context, _ int) (int, error) {
	<-make(chan int)
	return 0, nil
})

func TestStalledWorkflow(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, stalling, 0)
	require.Equal(t, string(abi.CodeGuestDeadlock), cruster.ErrorCode(err))
}

// deadlocking has two coroutines that wait for each other after a sleep.
var deadlocking = cruster.NewWorkflow("test.deadlocking", func(ctx cruster.Context, _ int) (int, error) {
	var futures [2]cruster.Future[cruster.None]
	for i := range futures {
		futures[i] = cruster.Go(ctx, func(ctx cruster.Context) error {
			if err := cruster.Sleep(ctx, time.Second); err != nil {
				return err
			}
			_, err := futures[1-i].Await(ctx)
			return err
		})
	}
	_, err := cruster.All(ctx, futures[:]...)
	return 0, err
})

func TestCoroutinesThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	// An interrupt that the test plans for later does not count as pending.
	_, err := crustertest.Run(
		t, deadlocking, 0, crustertest.Record(&h), crustertest.InterruptAfter(time.Hour, "too late"),
	)
	require.Equal(t, string(abi.CodeGuestDeadlock), cruster.ErrorCode(err))
	require.Equal(t, time.Second, h.Duration())
	require.NoError(t, h.Replay())
}

var rawChannels = cruster.NewWorkflow("test.rawChannels", func(ctx cruster.Context, n int) (int, error) {
	numbers := make(chan int)
	go func() {
		defer close(numbers)
		for i := range n {
			numbers <- i
		}
	}()
	sum := 0
	for i := range numbers {
		sum += i
	}
	return sum, cruster.Sleep(ctx, time.Second)
})

func TestRawGoroutinesBetweenDurableCalls(t *testing.T) {
	t.Parallel()
	sum, _, err := run(t, rawChannels, 100)
	require.NoError(t, err)
	require.Equal(t, 4950, sum)
}

var abandoning = cruster.NewWorkflow("test.abandoning", func(ctx cruster.Context, _ int) (int, error) {
	for range 10 {
		cruster.Go(ctx, func(ctx cruster.Context) error {
			defer func() { _ = cruster.Sleep(ctx, time.Second) }()
			return cruster.Sleep(ctx, time.Hour)
		})
	}
	return 7, cruster.Sleep(ctx, time.Minute)
})

func TestWorkflowEndsWithoutItsCoroutines(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, abandoning, 0)
	require.NoError(t, err)
	require.Equal(t, 7, got)
	require.Equal(t, time.Minute, h.Duration())
}

func TestEmptyFutureIsRefused(t *testing.T) {
	t.Parallel()
	require.PanicsWithError(t, "CR-4002: an empty cruster.Future was used: it must come from an SDK function",
		func() { cruster.Future[int]{}.Done() })
}

type (
	money  struct{ Cents int }
	euros  struct{ Euros int }
	priced struct{ Cents, Tax int } // money, a version later
)

var moneyOf = cruster.NewWorkflow("test.moneyOf", func(_ cruster.Context, cents int) (money, error) {
	return money{cents}, nil
}, cruster.RawKey(func(cents int) string { return fmt.Sprint("money-", cents) }))

// asOther asks for the result of moneyOf as something else.
func asOther[T any](name string) *cruster.Workflow[int, T] {
	return cruster.NewWorkflow(name, func(ctx cruster.Context, cents int) (T, error) {
		return cruster.RemoteWorkflow[int, T]("test.moneyOf").Execute(ctx, cents)
	}, cruster.RawKey(func(cents int) string { return fmt.Sprint(cents) }))
}

var (
	asEuros     = asOther[euros]("test.asEuros")
	asEurosLink = asOther[*euros]("test.asEurosLink")
	asPriced    = asOther[priced]("test.asPriced")
)

// TestAResultOfAnotherTypeIsNoZeroValue: of a struct without a field in common, nothing would be decoded. A
// field that was added or dropped is no error.
func TestAResultOfAnotherTypeIsNoZeroValue(t *testing.T) {
	t.Parallel()
	_ = moneyOf
	_, err := crustertest.Run(t, asEuros, 5)
	require.ErrorContains(
		t, err, "CR-4014: the result of workflow test.moneyOf does not fit: it has no field of cruster_test.euros",
	)
	_, err = crustertest.Run(t, asEurosLink, 5)
	require.ErrorContains(t, err, "does not fit: it has no field of cruster_test.euros")
	for _, cents := range []int{0, 5} {
		got, err := crustertest.Run(t, asPriced, cents)
		require.NoError(t, err)
		require.Equal(t, priced{Cents: cents}, got)
	}
}
