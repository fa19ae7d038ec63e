package client

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 2 * time.Second
)

// repeatable lists the calls that may be made again when it is not known whether the first one
// arrived: they only read, or the second finds the effect of the first. Settling a deferred is not
// among them: the host would answer a repetition that the deferred is settled, though it was this
// caller that settled it. The same holds for resuming and failing a paused execution, which then is
// no longer paused, for moving one, which may have ended by then, and for forking one; for creating and deleting a
// schedule; and for a backfill, of which a schedule has few at a time.
var repeatable = map[string]bool{
	crusterv1.DeploymentService_ListDeployments_FullMethodName:  true,
	crusterv1.DeploymentService_GetDeployment_FullMethodName:    true,
	crusterv1.WorkflowService_StartExecution_FullMethodName:     true,
	crusterv1.WorkflowService_FollowExecution_FullMethodName:    true, // by Client.Follow
	crusterv1.WorkflowService_WaitExecution_FullMethodName:      true,
	crusterv1.WorkflowService_GetExecution_FullMethodName:       true,
	crusterv1.WorkflowService_ListHistory_FullMethodName:        true,
	crusterv1.WorkflowService_ListExecutions_FullMethodName:     true,
	crusterv1.WorkflowService_QueryExecution_FullMethodName:     true,
	crusterv1.WorkflowService_GetExecutionState_FullMethodName:  true,
	crusterv1.WorkflowService_InterruptExecution_FullMethodName: true,
	crusterv1.WorkflowService_TerminateExecution_FullMethodName: true,
	crusterv1.EntityService_StreamCalls_FullMethodName:          true, // by the maker of the calls
	crusterv1.EntityService_GetEntity_FullMethodName:            true,
	crusterv1.EntityService_ListEntities_FullMethodName:         true,
	crusterv1.EntityService_ListEntityLocks_FullMethodName:      true,
	crusterv1.EntityService_ListParkedMessages_FullMethodName:   true,
	crusterv1.ScheduleService_GetSchedule_FullMethodName:        true,
	crusterv1.ScheduleService_ListSchedules_FullMethodName:      true,
	crusterv1.ScheduleService_UpdateSchedule_FullMethodName:     true,
	crusterv1.ScheduleService_PauseSchedule_FullMethodName:      true,
	crusterv1.ScheduleService_ResumeSchedule_FullMethodName:     true,
}

// A retrier repeats calls, and makes an *abi.Error of every failure.
type retrier struct {
	budget time.Duration
	// waits is told by each call that finds no host, and goes on trying, once each time that a host was there before;
	// may be nil.
	waits func(forAtMost time.Duration)
}

func (r retrier) unary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	repeat, left := mayRepeat(method, req), r.newBudget()
	if isMarked(req) {
		ctx = withBudget(ctx, &left)
	}
	lost := false // a try had a connection and no answer: it may have arrived
	var err error // of the last try
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		if !repeat || isMarked(req) || err != nil {
			late := left.awaitConnection(ctx, cc)
			switch {
			case late != nil && !lost:
				return late
			case late != nil && !isMarked(req):
				return rpcerror.From(err) // says why there is no connection
			}
		}
		hasHost, begun := cc.GetState() == connectivity.Ready, time.Now()
		err = invoke(ctx, method, req, reply, cc, opts...)
		if hasHost && status.Code(err) == codes.Unavailable && left.refill(time.Since(begun)) {
			backoff = firstBackoff
		}
		delay, again := r.delay(err, repeat, backoff)
		if again && status.Code(err) == codes.Unavailable {
			left.tellWaiting()
		}
		if !again || !pause(ctx, err, delay, left.start()) {
			return rpcerror.From(err)
		}
		if status.Code(err) == codes.Unavailable {
			req, lost = asRepeated(req), true
		}
	}
}

func (r retrier) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if !repeatable[method] {
		left := r.newBudget()
		if err := left.awaitConnection(ctx, cc); err != nil {
			return nil, err
		}
	}
	return open(ctx, desc, cc, method, opts...)
}

// isMarked tells whether a request is marked if it may have arrived before.
func isMarked(req any) bool {
	_, ok := req.(*crusterv1.CallEntityRequest)
	return ok
}

// asRepeated says of a request to an entity that it was made before: only the host knows whether the operation may be
// performed again.
func asRepeated(req any) any {
	call, ok := req.(*crusterv1.CallEntityRequest)
	if !ok || call.GetOperation().GetAgain() {
		return req
	}
	again, _ := proto.Clone(call).(*crusterv1.CallEntityRequest) // the caller's stays as it is
	again.Operation.Again = true
	return again
}

// mayRepeat tells whether a call may be made again when it is not known whether the first one arrived. A signal, an
// update, a request to an entity and a start of a new run in place of a finished one may if they have an id by which
// the host knows them again; of the last the host is told that it is a repetition.
func mayRepeat(method string, req any) bool {
	switch r := req.(type) {
	case interface {
		GetSignal() *crusterv1.SignalOptions
	}:
		return r.GetSignal().GetRequestId() != ""
	case interface{ GetOperation() *crusterv1.Operation }:
		return r.GetOperation().GetRequestId() != ""
	case interface {
		GetStart() *crusterv1.StartOptions
	}:
		return r.GetStart().GetRequestId() != "" || !startsOver(r.GetStart())
	case *crusterv1.ResumeExecutionRequest:
		return r.GetInterrupt() // a second request to stop changes nothing
	case *crusterv1.RestartExecutionRequest:
		return r.GetRequestId() != ""
	case *crusterv1.UpdateExecutionRequest:
		return r.GetRequestId() != ""
	case *crusterv1.DestroyEntityRequest:
		return r.GetRequestId() != ""
	case *crusterv1.TriggerScheduleRequest:
		return r.GetRequestId() != ""
	}
	return repeatable[method]
}

// startsOver tells whether a start is not idempotent by its key alone: repeated, it might start a
// second run, or be refused because of its own.
func startsOver(start *crusterv1.StartOptions) bool {
	switch start.GetIfFinished() {
	case crusterv1.IfFinished_IF_FINISHED_UNSPECIFIED, crusterv1.IfFinished_IF_FINISHED_RETURN:
		return false
	default:
		return true
	}
}

// delay returns whether and when to make a call again. A host that names a delay did nothing else with the call, so
// that any call may be repeated after it.
func (r retrier) delay(err error, repeatable bool, backoff time.Duration) (time.Duration, bool) {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		after, ok := rpcerror.RetryDelay(err)
		// All callers of a full host get the same delay: spread them.
		return after + rand.N(backoff), ok
	case codes.Unavailable:
		return backoff/2 + rand.N(backoff), repeatable
	default:
		return 0, false
	}
}

// pause waits until the next try, and tells whether there is one. The last is at the deadline,
// unless the host has named a delay beyond it.
func pause(ctx context.Context, err error, delay time.Duration, deadline time.Time) bool {
	left := time.Until(deadline)
	if status.Code(err) == codes.Unavailable {
		delay = min(delay, left)
	}
	return left > 0 && delay <= left && sleep(ctx, delay)
}

// sleep waits, unless ctx is done or would be done before.
func sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
