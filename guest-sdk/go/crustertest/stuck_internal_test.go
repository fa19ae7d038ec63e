package crustertest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// Goroutines of a test: the first waits for the turn of bubble 3.
const (
	waitsForTurn = `goroutine 7 [running]:
github.com/cruster/cruster/guest-sdk/go/crustertest.(*bubble).do(0x1)
	/sdk/crustertest/bubble.go:100 +0x3
orders.TestOrders(0x1)
	/src/orders/orders_test.go:20 +0x3

goroutine 1 [chan receive]:
testing.(*T).Run(0x1)
	/go/src/testing/testing.go:2109 +0x3
orders.TestMain(0x1)
	/src/orders/orders_test.go:9 +0x3

goroutine 8 [synctest.Run (durable), synctest bubble 3]:
internal/synctest.Run(0x1)
	/go/src/runtime/synctest.go:218 +0x3

goroutine 10 [select (durable), synctest bubble 3]:
github.com/cruster/cruster/guest-sdk/go/internal/guest.(*Execution).awaitYield(0x1)
	/sdk/internal/guest/hang_native.go:20 +0x3`
	parked = `goroutine 12 [chan receive (durable), synctest bubble 3]:
github.com/cruster/cruster/guest-sdk/go/internal/guest.(*Coroutine).giveBack(0x1)
	/sdk/internal/guest/coroutine.go:160 +0x3
orders.reserve.func1({0x1, 0x2})
	/src/orders/orders.go:40 +0x3
created by github.com/cruster/cruster/guest-sdk/go/internal/guest.(*Execution).spawn in goroutine 10
	/sdk/internal/guest/coroutine.go:60 +0x3`
	locks = `goroutine 11 [sync.Mutex.Lock, 2 minutes, synctest bubble 3]:
internal/sync.(*Mutex).lockSlow(0x1)
	/go/src/internal/sync/mutex.go:149 +0x3
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
orders.(*Book).sell(0x1)
	/src/orders/book.go:12 +0x3
orders.reserve({0x1, 0x2})
	/src/orders/orders.go:30 +0x3`
	outsideOf = `goroutine 20 [STATE]:
orders.helper(0x1)
	/src/orders/orders_test.go:50 +0x3
created by orders.TestOrders in goroutine 7
	/src/orders/orders_test.go:19 +0x3`
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const waits = "CR-4012: deadlock: every task waits and nothing is pending: " +
		"goroutine 11, in orders.(*Book).sell, waits (sync.Mutex.Lock) at orders/book.go:12; " +
		"goroutine 12, in orders.reserve.func1, waits (coroutine) at orders/orders.go:40"
	known.Store("left", left)
	known.Store("live", live)
	in := func(state string) string { return strings.Replace(outsideOf, "STATE", state, 1) }
	for name, c := range map[string]struct {
		stacks     []string
		want, late string
	}{
		"a lock that no one holds":  {[]string{parked, locks}, waits, waits},
		"a goroutine of the test":   {[]string{parked, locks, in("chan receive")}, "", waits},
		"one that sleeps":           {[]string{parked, locks, in("sleep")}, "", waits},
		"one that waits for a peer": {[]string{parked, locks, in("IO wait")}, "", waits},
		"one of another bubble": {
			[]string{parked, locks, in("chan receive (durable), synctest bubble other")}, "", waits,
		},
		"one of a bubble that ended": {
			[]string{parked, locks, in("chan receive (durable), synctest bubble left")}, waits, waits,
		},
		"one of a turn that is stuck alike": {[]string{
			parked, locks, in("sync.Mutex.Lock, synctest bubble live"),
			in("chan receive (durable), synctest bubble live"),
			"goroutine 40 [select]:\nx/crustertest.(*bubble).do(0x1)\n\t/sdk/b.go:1 " +
				"+0x3\norders.TestOther(0x1)\n\t/src/orders/o_test.go:70 +0x3",
		}, waits, waits},
		"one of a turn that computes": {
			[]string{parked, locks, in("runnable, synctest bubble live"), in("sync.Mutex.Lock, synctest bubble live")},
			"", waits,
		},
		"one of a turn whose clock moves on": {
			[]string{parked, locks, in("select (durable), synctest bubble live")}, "", waits,
		},
		"a server that has no call": {[]string{
			parked, locks,
			"goroutine 30 [IO wait]:\ninternal/poll.runtime_pollWait(0x1)\n\t/go/src/runtime/netpoll.go:351 +0x3",
		}, waits, waits},
		"a test that is not its turn": {[]string{
			parked, locks,
			"goroutine 31 [chan receive]:\ntesting.(*T).Parallel(0x1)\n\t/go/src/testing/testing.go:1700 " +
				"+0x3\norders.TestOther(0x1)\n\t/src/orders/orders_test.go:70 +0x3",
		}, waits, waits},
		"a goroutine of the workflow that computes": {
			[]string{parked, locks, in("runnable, synctest bubble 3")},
			"",
			"CR-4005: the module did not return from its turn before its deadline (in orders.helper " +
				"orders/orders_test.go:50)",
		},
		"a goroutine of the workflow that sleeps": {
			[]string{parked, locks, in("sleep (durable), synctest bubble 3")},
			"CR-4010: the module tried to block: goroutine 20, in orders.helper, waits (sleep) at " +
				"orders/orders_test.go:50",
			"CR-4010: the module tried to block: goroutine 20, in orders.helper, waits (sleep) at " +
				"orders/orders_test.go:50",
		},
		"all that synctest sees": {
			[]string{parked},
			"",
			strings.Replace(
				waits, "goroutine 11, in orders.(*Book).sell, waits (sync.Mutex.Lock) at orders/book.go:12; ", "", 1,
			),
		},
	} {
		all := stacks.Parse(strings.Join(append([]string{waitsForTurn}, c.stacks...), "\n\n"))
		for late, want := range map[bool]string{false: c.want, true: c.late} {
			_, problem := judge(all, "3", late)
			if want == "" {
				require.Nil(t, problem, name)
				continue
			}
			require.NotNil(t, problem, name)
			require.Equal(t, want, problem.Error(), name)
		}
	}
}

// A deadlock must be seen twice.
func TestLookTwice(t *testing.T) {
	t.Parallel()
	w := watch{bubble: "3"}
	stuck, free := stacks.Parse(waitsForTurn+"\n\n"+locks), stacks.Parse(waitsForTurn+"\n\n"+parked)
	require.Nil(t, w.look(stuck, false))
	require.Nil(t, w.look(free, false))
	require.Nil(t, w.look(stuck, false))
	require.NotNil(t, w.look(stuck, false))
}
