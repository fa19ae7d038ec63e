package crash_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/harness"
)

// target is one engine as a client sees it: in this process, or over gRPC.
type target interface {
	push(ctx context.Context, m module) error
	start(ctx context.Context, r request) (execution string, err error)
	settle(ctx context.Context, execution, name string, value any) error
	signal(ctx context.Context, execution, name, requestID string, value any) error
	update(ctx context.Context, execution, name, requestID string, input any) error
	call(ctx context.Context, o operation) error
	send(ctx context.Context, o operation) error
	// parkedAt is when each parked message of an entity was parked.
	parkedAt(ctx context.Context, entity string) ([]time.Time, error)
	retryParked(ctx context.Context, entity string) error
	dropParked(ctx context.Context, entity string) error
	interrupt(ctx context.Context, execution, reason string) error
	resume(ctx context.Context, execution string) error
	fail(ctx context.Context, execution, reason string) error
	move(ctx context.Context, execution string) error
	fork(ctx context.Context, execution string, at uint64, key string) error
	// run is the id of the newest run.
	run(ctx context.Context, execution string) (string, error)
	restart(ctx context.Context, execution, requestID string) error
	deleteRun(ctx context.Context, execution, run string) error
	// schedule makes a schedule that is paused.
	schedule(ctx context.Context, name string, r request) error
	trigger(ctx context.Context, schedule, request string) (execution string, err error)
	pending(ctx context.Context, execution string) ([]string, error)
	poll(ctx context.Context, execution string) error
	wait(ctx context.Context, execution string) (ending, error)
}

// module is the module deployed under the name of an example.
type module struct {
	name      string
	folder    string
	binary    []byte
	config    map[string]string
	allowHTTP []string
}

// request starts a workflow, under a key of its own or a given one.
type request struct {
	workflow string
	key      string
	input    any
}

// operation is a request to an entity, under an id of its own.
type operation struct {
	entity, name, requestID string
	input                   any
}

// ending is everything that a caller is told about an execution that has ended or is paused.
type ending struct {
	state string
	value any
	err   *abi.Error
}

// life is one engine from its start to its crash.
type life struct {
	target
	// died is closed when the engine has crashed where it was armed to, or, with wrong set, in another way.
	died  chan struct{}
	wrong error
	// end ends the engine, dead or alive, and frees its resources.
	end func()
}

func (l *life) dead() bool {
	select {
	case <-l.died:
		return true
	default:
		return false
	}
}

// arming is the crash plan of an engine at its start.
type arming struct {
	at        *faultpoint.Passing // where to crash; nil = nowhere
	retention time.Duration
}

// driver is a client that outlives the engines it talks to. A plan says at which passing each of them crashes; then
// another engine starts on the same store, and the client repeats the request that got no reply. Only the goroutine of
// the test uses it.
type driver struct {
	t         *testing.T
	launch    func(arming) *life
	retention time.Duration
	// deploy pushes the module of the scenario in the language of the campaign, or in another one.
	deploy func(another bool)

	engine  *life
	armed   *faultpoint.Passing
	plan    []faultpoint.Passing // of the engines to come
	crashed []faultpoint.Passing // the part of the plan that has happened
}

func newDriver(t *testing.T, launch func(arming) *life) *driver {
	d := &driver{t: t, launch: launch}
	t.Cleanup(d.stop)
	return d
}

// stop ends the engine that runs, if one does.
func (d *driver) stop() {
	if d.engine != nil {
		d.engine.end()
		d.engine = nil
	}
}

// restart ends the engine that runs and starts another that crashes as the plan says.
func (d *driver) restart(plan ...faultpoint.Passing) {
	d.stop()
	d.plan, d.crashed = plan, nil
	d.bringUp()
}

func (d *driver) bringUp() {
	d.armed = nil
	if len(d.plan) > 0 {
		d.armed, d.plan = &d.plan[0], d.plan[1:]
	}
	d.engine = d.launch(arming{at: d.armed, retention: d.retention})
}

// current is the running engine; if it has crashed, a new one replaces it first.
func (d *driver) current() *life {
	if d.engine == nil {
		d.bringUp()
	}
	for d.engine.dead() {
		require.NoError(d.t, d.engine.wrong)
		require.NotNil(d.t, d.armed, "an engine crashed that was not told to")
		d.crashed = append(d.crashed, *d.armed)
		d.engine.end()
		d.bringUp()
	}
	return d.engine
}

// awaitCrashes waits for the rest of the plan. The client may have its last answer before the engine passes a point
// on another goroutine.
func (d *driver) awaitCrashes(patience time.Duration) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for d.current(); d.armed != nil; d.current() {
		select {
		case <-d.engine.died:
		case <-timeout.C:
			return
		}
	}
}

// do repeats a request until an engine replies. A request that is repeated may be told that it has taken effect before,
// by one of the codes.
func do[T any](d *driver, request func(ctx context.Context, to target) (T, error), before ...abi.Code) T {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	for tries := 0; ctx.Err() == nil; tries++ {
		l := d.current()
		answered := make(chan answer, 1)
		go func() {
			value, err := request(ctx, l)
			answered <- answer{value, err}
		}()
		select {
		case a := <-answered:
			if a.err == nil || tries > 0 && slices.Contains(before, abi.CodeOf(a.err)) {
				return a.value
			}
			if abi.CodeOf(a.err) == abi.CodeStore {
				continue // the store was slow: a client asks again
			}
			if code := abi.CodeOf(a.err); code != abi.CodeShuttingDown && code != abi.CodeUnreachable {
				require.NoError(d.t, a.err)
			}
			select {
			case <-l.died:
			case <-ctx.Done():
			}
		case <-l.died:
		}
	}
	require.FailNow(d.t, "no engine answered")
	panic("unreachable")
}

// push deploys the module of an example, with a grant for the payment service.
func (d *driver) push(l language, s scenario, payments *charges) {
	d.t.Helper()
	m := module{
		name:      s.example,
		folder:    l.folder(s.example),
		binary:    harness.Module(d.t, l.folder(s.example)),
		config:    map[string]string{"payments_url": payments.url},
		allowHTTP: []string{strings.TrimPrefix(payments.url, "http://")},
	}
	do(d, func(ctx context.Context, to target) (any, error) { return nil, to.push(ctx, m) })
}

// start starts a workflow under the key that it derives, and returns the name of the execution.
func (d *driver) start(workflow string, input any) string {
	d.t.Helper()
	return d.startAs("", workflow, input)
}

// startAs starts a workflow under a key.
func (d *driver) startAs(key, workflow string, input any) string {
	d.t.Helper()
	r := request{workflow: workflow, key: key, input: input}
	return do(d, func(ctx context.Context, to target) (string, error) { return to.start(ctx, r) })
}

// schedule makes a schedule that is paused.
func (d *driver) schedule(name, workflow string, input any) {
	d.t.Helper()
	r := request{workflow: workflow, input: input}
	do(
		d, func(ctx context.Context, to target) (any, error) { return nil, to.schedule(ctx, name, r) },
		abi.CodeScheduleExists,
	)
}

// trigger has a schedule start a run, and returns the name of the execution.
func (d *driver) trigger(name string) string {
	d.t.Helper()
	return do(d, func(ctx context.Context, to target) (string, error) { return to.trigger(ctx, name, "r") })
}

func (d *driver) settle(execution, name string, value any) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) {
		return nil, to.settle(ctx, execution, name, value)
	}, abi.CodeDeferredSettled, abi.CodeAlreadyOver)
}

// signal sends a signal; the request is repeated under the same id.
func (d *driver) signal(execution, name, requestID string, value any) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) {
		return nil, to.signal(ctx, execution, name, requestID, value)
	}, abi.CodeAlreadyOver)
}

// update updates a workflow; the request is repeated under the same id.
func (d *driver) update(execution, name, requestID string, input any) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) {
		return nil, to.update(ctx, execution, name, requestID, input)
	})
}

// call calls an entity; the request is repeated under the same id.
func (d *driver) call(entity, name, requestID string, input any) {
	d.t.Helper()
	o := operation{entity: entity, name: name, requestID: requestID, input: input}
	do(d, func(ctx context.Context, to target) (any, error) { return nil, to.call(ctx, o) })
}

// send sends an entity a message; the request is repeated under the same id.
func (d *driver) send(entity, name, requestID string, input any) {
	d.t.Helper()
	o := operation{entity: entity, name: name, requestID: requestID, input: input}
	do(d, func(ctx context.Context, to target) (any, error) { return nil, to.send(ctx, o) })
}

// retryParked has all parked messages of an entity performed.
func (d *driver) retryParked(entity string) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) { return nil, to.retryParked(ctx, entity) })
}

func (d *driver) dropParked(entity string) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) { return nil, to.dropParked(ctx, entity) })
}

// awaitParked waits until an entity has one parked message, which was parked after a time, and returns when it was.
func (d *driver) awaitParked(entity string, after time.Time) (at time.Time) {
	d.t.Helper()
	harness.Eventually(d.t, entity+" has a parked message", func() bool {
		all := do(d, func(ctx context.Context, to target) ([]time.Time, error) { return to.parkedAt(ctx, entity) })
		if len(all) == 1 {
			at = all[0]
		}
		return len(all) == 1 && at.After(after)
	})
	return at
}

func (d *driver) interrupt(execution, reason string) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) {
		return nil, to.interrupt(ctx, execution, reason)
	}, abi.CodeAlreadyOver)
}

func (d *driver) resume(execution string) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) {
		return nil, to.resume(ctx, execution)
	}, abi.CodeNotPaused)
}

func (d *driver) fail(execution, reason string) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) {
		return nil, to.fail(ctx, execution, reason)
	}, abi.CodeNotPaused)
}

// move has an execution go on with the module that is deployed now.
func (d *driver) move(execution string) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) { return nil, to.move(ctx, execution) })
}

// fork starts a new run from the first entries of an execution, under a key.
func (d *driver) fork(execution string, at uint64, key string) {
	d.t.Helper()
	do(
		d, func(ctx context.Context, to target) (any, error) { return nil, to.fork(ctx, execution, at, key) },
		abi.CodeForkExists,
	)
}

// run is the id of the newest run of an execution.
func (d *driver) run(execution string) string {
	d.t.Helper()
	return do(d, func(ctx context.Context, to target) (string, error) { return to.run(ctx, execution) })
}

// startOver starts a new run of an ended execution; the request is repeated under the same id.
func (d *driver) startOver(execution, requestID string) {
	d.t.Helper()
	do(d, func(ctx context.Context, to target) (any, error) { return nil, to.restart(ctx, execution, requestID) })
}

// deleteRun deletes an ended run.
func (d *driver) deleteRun(execution, run string) {
	d.t.Helper()
	do(
		d, func(ctx context.Context, to target) (any, error) { return nil, to.deleteRun(ctx, execution, run) },
		abi.CodeExecutionNotFound,
	)
}

// wait waits until an execution has ended or is paused.
func (d *driver) wait(execution string) ending {
	d.t.Helper()
	return do(d, func(ctx context.Context, to target) (ending, error) { return to.wait(ctx, execution) })
}

// awaitPending waits until an execution waits for an op.
func (d *driver) awaitPending(execution, kind, name string) {
	d.t.Helper()
	harness.Eventually(d.t, fmt.Sprintf("%s waits for %s %s", execution, kind, name), func() bool {
		ops := do(d, func(ctx context.Context, to target) ([]string, error) { return to.pending(ctx, execution) })
		return slices.Contains(ops, kind+" "+name)
	})
}

// awaitGone waits until an execution was deleted.
func (d *driver) awaitGone(execution string) {
	d.t.Helper()
	harness.Eventually(d.t, execution+" is gone", func() bool { return !d.there(execution) })
}

// awaitStarted waits until an execution is there that the client did not start.
func (d *driver) awaitStarted(execution string) {
	d.t.Helper()
	harness.Eventually(d.t, execution+" is there", func() bool { return d.there(execution) })
}

func (d *driver) there(execution string) bool {
	d.t.Helper()
	return do(d, func(ctx context.Context, to target) (bool, error) {
		err := to.poll(ctx, execution)
		if abi.CodeOf(err) == abi.CodeExecutionNotFound {
			return false, nil
		}
		return err == nil, err
	})
}
