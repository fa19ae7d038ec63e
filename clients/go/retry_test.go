package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
)

// TestFailIsNotRepeated: the host would answer the second call that the execution is not paused, though it was the
// first that failed it.
func TestFailIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var asked []string
	b.workflows.fail = func(req *crusterv1.FailExecutionRequest) (*crusterv1.FailExecutionResponse, error) {
		asked = append(asked, req.GetExecution()+": "+req.GetReason())
		if len(asked) == 1 {
			return &crusterv1.FailExecutionResponse{}, nil
		}
		return nil, status.Error(codes.Unavailable, "gone")
	}

	run := client.Attach[int](b.client, "a/B/c")
	require.NoError(t, run.Fail(t.Context(), "given up"))
	require.Equal(t, abi.CodeUnreachable, abi.CodeOf(run.Fail(t.Context(), "again")))
	require.Equal(t, []string{"a/B/c: given up", "a/B/c: again"}, asked)
}

func TestUnansweredStartsAreRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.host.execute = func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		switch calls.Add(1) {
		case 1:
			return nil, status.Error(codes.Unavailable, "gone")
		case 2:
			return nil, rpcerror.Status(abi.Errorf(abi.CodeOverloaded, "full"), time.Millisecond).Err()
		default:
			return &crusterv1.StartExecutionResponse{Execution: completed(receipt{1})}, nil
		}
	}

	_, err := client.Workflow[order, receipt](b.client, "shop/Buy").Execute(t.Context(), order{})
	require.NoError(t, err)
	require.EqualValues(t, 3, calls.Load())
}

// TestStartsOfNewRunsAreRepeated repeats starts that may begin a new run, under one request id; a
// start without one is not repeated.
func TestStartsOfNewRunsAreRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var asked []*crusterv1.StartOptions
	b.host.execute = func(req *crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		asked = append(asked, req.GetStart())
		if len(asked) == 1 {
			return nil, status.Error(codes.Unavailable, "gone")
		}
		return &crusterv1.StartExecutionResponse{Execution: completed(receipt{7})}, nil
	}
	buy := client.Workflow[order, receipt](b.client, "shop/Buy")
	for do, wire := range map[client.IfFinished]crusterv1.IfFinished{
		client.ReturnFinished:  crusterv1.IfFinished_IF_FINISHED_RETURN,
		client.RestartFinished: crusterv1.IfFinished_IF_FINISHED_RESTART,
		client.RestartFailed:   crusterv1.IfFinished_IF_FINISHED_RESTART_FAILED,
		client.RefuseFinished:  crusterv1.IfFinished_IF_FINISHED_REFUSE,
	} {
		asked = nil
		_, err := buy.IfFinished(do).Execute(t.Context(), order{})
		require.NoError(t, err)
		require.Len(t, asked, 2)
		require.Equal(t, wire, asked[0].GetIfFinished())
		require.NotEmpty(t, asked[0].GetRequestId())
		require.Equal(t, asked[0].GetRequestId(), asked[1].GetRequestId())
	}
	asked = nil
	_, err := buy.IfFinished(client.RestartFinished).WithRequestID("mine").Execute(t.Context(), order{})
	require.NoError(t, err)
	require.Equal(t, "mine", asked[1].GetRequestId())
	_, err = buy.IfFinished("again").Execute(t.Context(), order{})
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err))

	asked = nil
	_, err = b.client.Workflows().StartExecution(t.Context(), &crusterv1.StartExecutionRequest{
		Wait:  durationpb.New(time.Minute),
		Start: &crusterv1.StartOptions{IfFinished: crusterv1.IfFinished_IF_FINISHED_RESTART},
	})
	require.Error(t, err)
	require.Len(t, asked, 1)
}

func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, client.WithRetryFor(0))
	var calls atomic.Int32
	b.host.execute = func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
		calls.Add(1)
		return nil, status.Error(codes.Unavailable, "gone")
	}

	_, err := client.Workflow[order, receipt](b.client, "shop/Buy").Execute(t.Context(), order{})
	require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err))
	require.EqualValues(t, 1, calls.Load())
}

// TestTheBudgetIsUsedUp: the last try is not before the budget ends, or a host that starts in its
// second half would be missed.
func TestTheBudgetIsUsedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const budget = 200 * time.Millisecond
		b := setup(t, client.WithRetryFor(budget))
		var first, last time.Time
		b.host.execute = func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
			last = time.Now()
			if first.IsZero() {
				first = last
			}
			return nil, status.Error(codes.Unavailable, "gone")
		}

		_, err := client.Workflow[order, receipt](b.client, "shop/Buy").Execute(t.Context(), order{})
		require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err))
		require.GreaterOrEqual(t, last.Sub(first), budget)
	})
}

func TestSettlementsAreNotRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.host.resolve = func(req *crusterv1.ResolveDeferredRequest) (*crusterv1.ResolveDeferredResponse, error) {
		require.Equal(t, abi.MustMarshal(true), req.GetValue().GetMsgpack())
		calls.Add(1)
		return nil, status.Error(codes.Unavailable, "gone")
	}

	err := b.client.Resolve(t.Context(), "shop/Buy/k", "approved", true)
	require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err))
	require.EqualValues(t, 1, calls.Load(), "the first may have arrived")
}

// onceOnly are calls that must not be made a second time. Each counts the calls that reach the
// host.
var onceOnly = map[string]func(ctx context.Context, b *testBundle, calls *atomic.Int32) error{
	"Resolve": func(ctx context.Context, b *testBundle, calls *atomic.Int32) error {
		b.host.resolve = func(*crusterv1.ResolveDeferredRequest) (*crusterv1.ResolveDeferredResponse, error) {
			calls.Add(1)
			return &crusterv1.ResolveDeferredResponse{}, nil
		}
		return b.client.Resolve(ctx, "shop/Buy/k", "approved", true)
	},
	"Fail": func(ctx context.Context, b *testBundle, calls *atomic.Int32) error {
		b.workflows.fail = func(*crusterv1.FailExecutionRequest) (*crusterv1.FailExecutionResponse, error) {
			calls.Add(1)
			return &crusterv1.FailExecutionResponse{}, nil
		}
		return client.Attach[int](b.client, "shop/Buy/k").Fail(ctx, "given up")
	},
	"Push": func(ctx context.Context, b *testBundle, calls *atomic.Int32) error {
		b.host.push = func(*crusterv1.PushMetadata, []byte) (*crusterv1.PushResult, error) {
			calls.Add(1)
			return &crusterv1.PushResult{}, nil
		}
		_, err := b.client.Push(ctx, client.PushRequest{Name: "shop", Binary: make([]byte, 1<<20)})
		return err
	},
}

var errNoHost = errors.New("no listener")

// TestCallsMadeOnceWaitForAHost: a call that was never sent is safe to send later, so that a call
// waits for a host that is on its way.
func TestCallsMadeOnceWaitForAHost(t *testing.T) {
	t.Parallel()
	for name, call := range onceOnly {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var calls, tries atomic.Int32
			b.refuse = func() error {
				if tries.Add(1) < 4 {
					return errNoHost
				}
				return nil
			}
			require.NoError(t, call(t.Context(), b, &calls))
			require.EqualValues(t, 1, calls.Load())
		})
	}
}

func TestWaitingForAHostIsBounded(t *testing.T) {
	t.Parallel()
	for name, call := range onceOnly {
		t.Run(name+"/Budget", func(t *testing.T) {
			t.Parallel()
			const budget = 200 * time.Millisecond
			b := setup(t, client.WithRetryFor(budget))
			b.refuse = func() error { return errNoHost }
			var calls atomic.Int32
			begun := time.Now()
			err := call(t.Context(), b, &calls)
			require.GreaterOrEqual(t, time.Since(begun), budget, "it is used up")
			require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err))
			require.ErrorContains(t, err, "no host answers: no listener")
			require.Zero(t, calls.Load())
		})
		t.Run(name+"/Deadline", func(t *testing.T) {
			t.Parallel()
			b := setup(t, client.WithRetryFor(time.Hour))
			b.refuse = func() error { return errNoHost }
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			var calls atomic.Int32
			err := call(ctx, b, &calls)
			require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err), err)
			require.ErrorContains(t, err, "it was not sent")
			require.Zero(t, calls.Load())
		})
		t.Run(name+"/Context", func(t *testing.T) {
			t.Parallel()
			b := setup(t, client.WithRetryFor(time.Hour))
			ctx, giveUp := context.WithCancel(t.Context())
			var calls, tries atomic.Int32
			b.refuse = func() error {
				if tries.Add(1) == 2 {
					giveUp()
				}
				return errNoHost
			}
			require.ErrorIs(t, call(ctx, b, &calls), context.Canceled)
			require.Zero(t, calls.Load())
		})
	}
}

// TestOnlyWhatHasLeftIsMarked: a host refuses to run some operations a second time, so that a call
// that found no connection must not look like one.
func TestOnlyWhatHasLeftIsMarked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var tries atomic.Int32
	b.refuse = func() error {
		if tries.Add(1) < 4 {
			return errNoHost
		}
		return nil
	}
	b.entities.away = 1
	deposit := client.Operation[int64, int64](b.client, "bank/Account", "deposit").On("ada")
	_, err := deposit.Call(t.Context(), 5)
	require.NoError(t, err)
	require.Len(t, b.entities.asked, 2)
	require.False(t, b.entities.asked[0].GetAgain(), "the tries before it had no connection")
	require.True(t, b.entities.asked[1].GetAgain())
}

// An ending context has a deadline that passes when done is closed.
type ending struct {
	context.Context
	done chan struct{}
}

func (c ending) Done() <-chan struct{} { return c.done }

func (c ending) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestADeadlineSaysWhatHasLeft: of a call whose first try was lost it is not known that nothing of
// it was sent, whatever the others found.
func TestADeadlineSaysWhatHasLeft(t *testing.T) {
	t.Parallel()
	for name, reached := range map[string]bool{"Lost": true, "Unsent": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, client.WithRetryFor(time.Hour))
			ctx := ending{Context: t.Context(), done: make(chan struct{})}
			var tries atomic.Int32
			b.refuse = func() error {
				n := tries.Add(1)
				if reached && n == 1 {
					return nil
				}
				if n == 3 {
					close(ctx.done)
				}
				return errNoHost
			}
			b.entities.lose = b.stop
			_, err := client.Operation[int64, int64](b.client, "bank/Account", "deposit").On("ada").Call(ctx, 5)
			want := abi.CodeUnreachable
			if reached {
				want = abi.CodeDeadline
			}
			require.Equal(t, want, abi.CodeOf(err), err)
		})
	}
}

// TestWaitingAndRepeatingShareABudget: a call that has waited for a connection is not repeated for the whole budget
// once more.
func TestWaitingAndRepeatingShareABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const budget, outage = time.Minute, time.Second
		b := setup(t, client.WithRetryFor(budget))
		begun := time.Now()
		b.refuse = func() error {
			if time.Since(begun) < outage {
				return errNoHost
			}
			return nil
		}
		var calls atomic.Int32
		b.host.resolve = func(*crusterv1.ResolveDeferredRequest) (*crusterv1.ResolveDeferredResponse, error) {
			if calls.Add(1) > 1 {
				return &crusterv1.ResolveDeferredResponse{}, nil
			}
			// Within the budget, but for the time without a host.
			return nil, rpcerror.Status(abi.Errorf(abi.CodeOverloaded, "full"), budget-outage/2).Err()
		}
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(b.client.Resolve(t.Context(), "shop/Buy/k", "approved", true)))
		require.EqualValues(t, 1, calls.Load())
	})
}

// TestACallOutlivesRestarts: the budget bounds the time without a host, not the time from the first
// restart on that a long call meets.
func TestACallOutlivesRestarts(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *testBundle) error{
		"Workflow": func(ctx context.Context, b *testBundle) error {
			_, err := client.Workflow[order, receipt](b.client, "shop/Buy").Execute(ctx, order{})
			return err
		},
		"Entity": func(ctx context.Context, b *testBundle) error {
			_, err := client.Operation[int64, int64](b.client, "bank/Account", "deposit").On("ada").WithRequestID(
				"once",
			).Call(ctx, 5)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const budget = time.Minute
				b := setup(t, client.WithRetryFor(budget))
				restarts, left, longest := 0, time.Now(), time.Duration(0)
				away := func() error {
					longest = max(longest, time.Since(left))
					time.Sleep(budget) // the host has it
					left = time.Now()
					if restarts++; restarts > 10 {
						return nil
					}
					return status.Error(codes.Unavailable, "the host stops")
				}
				b.host.execute = func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
					return &crusterv1.StartExecutionResponse{Execution: completed(receipt{1})}, away()
				}
				b.entities.call = func(_ context.Context, req *crusterv1.CallEntityRequest) (
					*crusterv1.CallEntityResponse, error,
				) {
					return &crusterv1.CallEntityResponse{Result: req.GetOperation().GetInput()}, away()
				}
				require.NoError(t, call(t.Context(), b))
				require.Equal(t, 11, restarts)
				require.Less(t, longest, time.Second, "it comes back soon, however often it has waited before")
			})
		})
	}
}

// TestTheTimeWithoutAHostIsBounded: tries that find no host, or a refusing host, at once or after a
// while, give nothing back.
func TestTheTimeWithoutAHostIsBounded(t *testing.T) {
	t.Parallel()
	const budget = time.Minute
	for name, outage := range map[string]struct {
		execute, refuse error
		after           time.Duration
	}{
		"NoListener": {refuse: errNoHost},
		"Refused":    {execute: status.Error(codes.Unavailable, "the host stops")},
		"Soon":       {execute: status.Error(codes.Unavailable, "no upstream"), after: 10 * time.Millisecond},
		"Later":      {execute: status.Error(codes.Unavailable, "no upstream"), after: 100 * time.Millisecond},
		"Late":       {execute: status.Error(codes.Unavailable, "the store does not answer"), after: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, client.WithRetryFor(budget))
				b.refuse = func() error { return outage.refuse }
				b.host.execute = func(*crusterv1.StartExecutionRequest) (*crusterv1.StartExecutionResponse, error) {
					time.Sleep(outage.after)
					return nil, outage.execute
				}
				begun := time.Now()
				_, err := client.Workflow[order, receipt](b.client, "shop/Buy").Execute(t.Context(), order{})
				require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err), err)
				require.LessOrEqual(t, time.Since(begun), budget+2*outage.after)
				require.GreaterOrEqual(t, time.Since(begun), budget)
			})
		})
	}
}

// TestADeadlineSaysWhyThereIsNoHost: the last error of a call that is repeated until its deadline
// is about the host, not about the deadline.
func TestADeadlineSaysWhyThereIsNoHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, client.WithRetryFor(time.Hour))
		b.refuse = func() error { return errNoHost }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Workflow[order, receipt](b.client, "shop/Buy").Execute(ctx, order{})
		require.Equal(t, abi.CodeUnreachable, abi.CodeOf(err), err)
		require.ErrorContains(t, err, "no listener")
	})
}
