package cruster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	paid      = cruster.NewSignal[pair]("paid")
	cancelled = cruster.NewSignal[string]("cancelled")
	noticed   = cruster.NewSignal[int]("noticed") // accepted by no workflow
)

// summing adds up payments until it was paid enough.
var summing = cruster.NewWorkflow("test.summing", func(ctx cruster.Context, enough int) (int, error) {
	sum := 0
	for sum < enough {
		p, err := paid.Receive(ctx)
		if err != nil {
			return sum, err
		}
		sum += p.A
		if err := cruster.Sleep(ctx, time.Second); err != nil {
			return sum, err
		}
	}
	return sum, nil
}).Accepts(paid, cancelled)

func TestSignalsAreReceivedOnceInOrder(t *testing.T) {
	t.Parallel()
	got, h, err := run(
		t, summing, 7, crustertest.Signal(paid, pair{A: 1}), crustertest.Signal(cancelled, "never asked for"),
		crustertest.SignalAfter(time.Minute, paid, pair{A: 2}), crustertest.SignalAfter(time.Minute, paid, pair{A: 4}),
		crustertest.SignalAfter(time.Minute, paid, pair{A: 8}),
	)
	require.NoError(t, err)
	require.Equal(t, 7, got)
	require.Equal(
		t, []string{"receive paid", "sleep 1s", "receive paid", "sleep 1s", "receive paid", "sleep 1s"}, h.Steps(),
	)
	unread, err := crustertest.Unread(&h, paid)
	require.NoError(t, err)
	require.Equal(t, []pair{{A: 8}}, unread)
	others, err := crustertest.Unread(&h, cancelled)
	require.NoError(t, err)
	require.Equal(t, []string{"never asked for"}, others)
}

// patient waits for a payment, again and again, each time for a minute.
var patient = cruster.NewWorkflow("test.patient", func(ctx cruster.Context, tries int) (string, error) {
	for try := range tries {
		p, err := cruster.WithTimeout(ctx, time.Minute, paid.Future(ctx))
		if !errors.Is(err, cruster.ErrTimeout) {
			return fmt.Sprint(try, " ", p.A), err
		}
	}
	return "never", nil
}).Accepts(paid)

func TestAFutureThatWasGivenUpTakesNoSignal(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, patient, 5, crustertest.SignalAfter(150*time.Second, paid, pair{A: 3}))
	require.NoError(t, err)
	require.Equal(t, "2 3", got)
	require.Equal(t, []string{"receive paid", "sleep 1m0s", "sleep 1m0s", "sleep 1m0s"}, h.Steps(), "one op at a time")
}

// turnstile lets several coroutines wait for the same signal; the first gives up.
var turnstile = cruster.NewWorkflow("test.turnstile", func(ctx cruster.Context, _ int) ([]string, error) {
	var trace []string
	first := paid.Future(ctx)
	var all []cruster.Future[cruster.None]
	wait := func(name string, f cruster.Future[pair]) {
		all = append(all, cruster.Go(ctx, func(ctx cruster.Context) error {
			p, err := f.Await(ctx)
			trace = append(trace, fmt.Sprint(name, " ", p.A, " ", err))
			return nil
		}))
	}
	wait("first", first)
	second := paid.Future(ctx)
	wait("second", second)
	wait("second again", second)
	wait("third", paid.Future(ctx))
	if err := cruster.Sleep(ctx, time.Minute); err != nil {
		return nil, err
	}
	first.Cancel(ctx)
	_, err := cruster.All(ctx, all...)
	return trace, err
}).Accepts(paid)

func TestSignalsGoToThoseThatWaitInOrder(t *testing.T) {
	t.Parallel()
	trace, _, err := run(t, turnstile, 0,
		crustertest.SignalAfter(2*time.Minute, paid, pair{A: 1}),
		crustertest.SignalAfter(2*time.Minute, paid, pair{A: 2}),
	)
	require.NoError(t, err)
	require.Equal(
		t,
		[]string{"first 0 " + cruster.ErrCanceled.Error(), "second 1 <nil>", "second again 1 <nil>", "third 2 <nil>"},
		trace,
	)
}

// choosingSignal waits for the first of two signals, and looks at a third way whether one came.
var choosingSignal = cruster.NewWorkflow("test.choosingSignal", func(ctx cruster.Context, _ int) (string, error) {
	stop, pay := cancelled.Future(ctx), paid.Future(ctx)
	var got string
	err := cruster.Select(ctx,
		cruster.On(stop, func(why string, err error) { got = fmt.Sprint("cancelled ", why, err) }),
		cruster.On(pay, func(p pair, err error) { got = fmt.Sprint("paid ", p.A, err) }))
	if err != nil {
		return "", err
	}
	before := pay.Done()
	if err := cruster.Sleep(ctx, time.Hour); err != nil {
		return "", err
	}
	after := pay.Done()
	p, err := pay.Await(ctx)
	return fmt.Sprint(got, " ", before, " ", after, " ", p.A), err
}).Accepts(paid, cancelled)

func TestSignalsInSelect(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, choosingSignal, 0,
		crustertest.SignalAfter(time.Minute, cancelled, "too late"),
		crustertest.SignalAfter(2*time.Minute, paid, pair{A: 5}),
	)
	require.NoError(t, err)
	require.Equal(t, "cancelled too late<nil> false true 5", got)
}

// stopping is interrupted while it waits for a signal, and waits for another one to clean up.
var stopping = cruster.NewWorkflow("test.stopping", func(ctx cruster.Context, _ int) (string, error) {
	_, waited := paid.Receive(ctx)
	_, again := paid.Receive(ctx)
	p, err := paid.Receive(cruster.Shield(ctx))
	return fmt.Sprint(errors.Is(waited, cruster.ErrInterrupted), errors.Is(again, cruster.ErrInterrupted), p.A), err
}).Accepts(paid)

func TestInterruptEndsWaitsForSignals(t *testing.T) {
	t.Parallel()
	got, h, err := run(
		t, stopping, 0, crustertest.InterruptAfter(time.Minute, ""),
		crustertest.SignalAfter(time.Hour, paid, pair{A: 6}),
	)
	require.NoError(t, err)
	require.Equal(t, "true true 6", got)
	require.Equal(t, []string{"receive paid"}, h.Steps(), "the op goes on, and the next wait uses it")
}

// messenger sends signals to others, in all ways that fail and in some that do not.
var messenger = cruster.NewWorkflow("test.messenger", func(ctx cruster.Context, _ int) ([]string, error) {
	var codes []string
	note := func(err error) { codes = append(codes, cruster.ErrorCode(err)) }
	other, err := summing.Client().Start(ctx, 3)
	if err != nil {
		return nil, err
	}
	note(noticed.Send(ctx, other, 1))
	note(cruster.NewSignal[int]("paid").Send(ctx, other, 1))
	note(paid.Send(ctx, "test/test.summing/missing", pair{A: 1}))
	note(paid.Send(ctx, other, pair{A: 1}))
	note(paid.Send(ctx, other, pair{A: 2}))
	sum, err := summing.Client().Execute(ctx, 3)
	if err != nil || sum != 3 {
		return codes, fmt.Errorf("the other was paid %d: %w", sum, err)
	}
	note(paid.Send(ctx, other, pair{A: 4}))
	note(cancelled.Send(ctx, cruster.ExecutionID(ctx), "to itself"))
	why, err := cancelled.Receive(ctx)
	return append(codes, why), err
}).Accepts(cancelled)

func TestSignalsBetweenExecutions(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, messenger, 0)
	require.NoError(t, err)
	require.Equal(t, []string{
		string(abi.CodeUnknownSignal), string(abi.CodeBadInput), string(abi.CodeExecutionNotFound), "", "",
		string(abi.CodeAlreadyOver), "", "to itself",
	}, got)
}

// flooding sends more signals than wait anywhere.
var flooding = cruster.NewWorkflow("test.flooding", func(ctx cruster.Context, _ int) (string, error) {
	me := cruster.ExecutionID(ctx)
	for range abi.MaxInbox {
		if err := cancelled.Send(ctx, me, ""); err != nil {
			return "", err
		}
	}
	return cruster.ErrorCode(cancelled.Send(ctx, me, "")), nil
}).Accepts(cancelled)

func TestAtMostSoManySignalsWait(t *testing.T) {
	t.Parallel()
	code, err := crustertest.Run(t, flooding, 0)
	require.NoError(t, err)
	require.Equal(t, string(abi.CodeInboxFull), code)
}

// ending asks for a signal, and ends without looking at it.
var ending = cruster.NewWorkflow("test.ending", func(ctx cruster.Context, _ int) (string, error) {
	_ = cancelled.Future(ctx)
	return "over", cruster.Sleep(ctx, time.Minute)
}).Accepts(cancelled)

func TestUnreadSignals(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]crustertest.Option{
		"kept":           crustertest.SignalAfter(time.Second, cancelled, "unread"),
		"with its end":   crustertest.SignalAfter(time.Minute, cancelled, "unread"),
		"from the start": crustertest.Signal(cancelled, "unread"),
	} {
		_, h, err := run(t, ending, 0, send, crustertest.SignalAfter(time.Minute, cancelled, "too"))
		require.NoError(t, err)
		unread, err := crustertest.Unread(&h, cancelled)
		require.NoError(t, err)
		require.Equal(t, []string{"unread", "too"}, unread, name)
	}
}

// undeclared waits for a signal that it does not accept.
var undeclared = cruster.NewWorkflow("test.undeclared", func(ctx cruster.Context, _ int) (int, error) {
	return noticed.Receive(ctx)
})

func TestSignalsAreDeclared(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, undeclared, 0)
	require.ErrorContains(
		t, err, `CR-4002: workflow test.undeclared waits for signal "noticed", which it does not accept: declare it`,
	)
	_, err = crustertest.Run(t, undeclared, 0, crustertest.Signal(noticed, 1))
	require.Equal(t, string(abi.CodeUnknownSignal), cruster.ErrorCode(err), "it cannot be sent, either")
	_, err = crustertest.Run(t, summing, 1, crustertest.SignalAfter(time.Second, cruster.NewSignal[int]("paid"), 1))
	require.Equal(t, string(abi.CodeBadInput), cruster.ErrorCode(err))

	require.PanicsWithValue(t, `cruster: workflow test.summing accepts signal "paid" twice`, func() {
		summing.Accepts(paid)
	})
	require.Panics(t, func() { cruster.NewSignal[int]("no name") })
}

// asleep has its coroutines wait for each other while a signal could come.
var asleep = cruster.NewWorkflow("test.asleep", func(ctx cruster.Context, _ int) (int, error) {
	_ = paid.Future(ctx)
	var self cruster.Future[int]
	self = cruster.Async(ctx, func(ctx cruster.Context) (int, error) { return self.Await(ctx) })
	return self.Await(ctx)
}).Accepts(paid)

func TestASignalWithoutAWaiterEndsNoDeadlock(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, asleep, 0, crustertest.SignalAfter(time.Minute, paid, pair{}))
	require.Equal(t, string(abi.CodeGuestDeadlock), cruster.ErrorCode(err))
	_, err = crustertest.Run(t, summing, 1)
	require.ErrorContains(t, err, "waits for receive paid")
}
