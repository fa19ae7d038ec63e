package crash_test

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	entities "github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// engines launches engines in this process, one after the other, and counts how often the last of them has passed each
// fault point.
type engines struct {
	t       *testing.T
	store   journal.Store
	runtime *wasm.Runtime
	evict   bool

	mu     sync.Mutex
	passed map[string]int // guarded by mu
	dead   bool           // guarded by mu
}

func (es *engines) launch(a arming) *life {
	es.mu.Lock()
	es.passed, es.dead = map[string]int{}, false
	es.mu.Unlock()
	l := &life{died: make(chan struct{})}
	var e *host.Engine
	e, err := host.New(host.Config{
		Store: es.store, Logger: harness.Logger(es.t), Runtime: es.runtime, Retention: a.retention,
		DrainTimeout: time.Second,
		// Long enough that a guest on a loaded machine is not taken for a runaway.
		TurnTimeout: harness.Patience,
		UnderTest: &undertest.Options{EvictAlways: es.evict, FaultPoint: func(point string) {
			if es.pass(point, a) {
				e.Kill()
				close(l.died)
			} else if !es.isDead() {
				return
			}
			runtime.Goexit() // as in a real crash, the goroutine does not go on
		}},
	})
	require.NoError(es.t, err)
	l.target, l.end = inProcess{e}, func() { require.NoError(es.t, e.Stop(context.Background())) }
	// A crash in Start ends its goroutine; one elsewhere does not, and Start must be through before the engine is
	// stopped.
	through := make(chan struct{})
	go func() {
		defer close(through)
		err = e.Start(es.t.Context())
	}()
	<-through
	if !l.dead() {
		require.NoError(es.t, err)
	}
	return l
}

// pass counts a passing, and reports whether the engine is to crash there.
func (es *engines) pass(point string, a arming) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.dead {
		return false
	}
	es.passed[point]++
	es.dead = a.at != nil && point == a.at.Point && es.passed[point] == a.at.N
	return es.dead
}

func (es *engines) isDead() bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	return es.dead
}

func (es *engines) counts() map[string]int {
	es.mu.Lock()
	defer es.mu.Unlock()
	return maps.Clone(es.passed)
}

// inProcess is an engine as its own Go API shows it.
type inProcess struct{ *host.Engine }

func (e inProcess) push(ctx context.Context, m module) error {
	_, err := e.Deployments().Push(ctx, host.PushRequest{
		Name: m.name, Binary: m.binary, Settings: host.Settings{Config: m.config, AllowHTTP: m.allowHTTP},
	})
	return err
}

func (e inProcess) start(ctx context.Context, r request) (string, error) {
	input, err := abi.Marshal(r.input)
	if err != nil {
		return "", err
	}
	req := host.StartRequest{Workflow: r.workflow, Input: input}
	if r.key != "" {
		req.Key, req.KeyMode = r.key, abi.KeyRaw
	}
	row, _, err := e.Launcher().Start(ctx, req)
	if err != nil {
		return "", err
	}
	return row.Name(), nil
}

func (e inProcess) settle(ctx context.Context, execution, name string, value any) error {
	encoded, err := abi.Marshal(value)
	if err != nil {
		return err
	}
	return e.Executions().Settle(ctx, "", execution, journal.Deferred{Name: name, Value: encoded})
}

func (e inProcess) signal(ctx context.Context, execution, name, requestID string, value any) error {
	return e.Executions().Signal(ctx, "", execution, host.SignalRequest{
		Name: name, Value: abi.MustMarshal(value), RequestID: requestID,
	})
}

func (e inProcess) update(ctx context.Context, execution, name, requestID string, input any) error {
	outcome, err := e.Executions().Update(ctx, "", execution, host.UpdateRequest{
		Name: name, Input: abi.MustMarshal(input), RequestID: requestID,
	})
	if err == nil && outcome.Error != nil {
		return outcome.Error
	}
	return err
}

func (e inProcess) call(ctx context.Context, o operation) error {
	outcome, err := e.Entities().Call(ctx, o.request())
	if err == nil && outcome.Error != nil {
		return outcome.Error
	}
	return err
}

func (e inProcess) send(ctx context.Context, o operation) error {
	return e.Entities().Send(ctx, o.request())
}

func (e inProcess) parkedAt(ctx context.Context, name string) (all []time.Time, err error) {
	ref, err := entities.RefOf(host.DefaultNamespace, name)
	if err != nil {
		return nil, err
	}
	found, err := e.Entities().Parked(ctx, journal.ParkedFilter{Entity: ref.ID()})
	for i := range found {
		all = append(all, time.Unix(0, found[i].At))
	}
	return all, err
}

func (e inProcess) retryParked(ctx context.Context, entity string) error {
	_, err := e.Entities().RetryParked(ctx, "", entity, nil)
	return err
}

func (e inProcess) dropParked(ctx context.Context, entity string) error {
	_, err := e.Entities().DropParked(ctx, "", entity, nil)
	return err
}

func (o operation) request() host.EntityRequest {
	return host.EntityRequest{
		Entity: o.entity, Operation: o.name, RequestID: o.requestID, Input: abi.MustMarshal(o.input),
	}
}

func (e inProcess) interrupt(ctx context.Context, execution, reason string) error {
	return e.Executions().Interrupt(ctx, "", execution, reason)
}

func (e inProcess) resume(ctx context.Context, execution string) error {
	return e.Executions().Resume(ctx, "", execution)
}

func (e inProcess) fail(ctx context.Context, execution, reason string) error {
	return e.Executions().Fail(ctx, "", execution, reason)
}

func (e inProcess) move(ctx context.Context, execution string) error {
	_, err := e.Executions().Move(ctx, "", execution, host.Latest)
	return err
}

func (e inProcess) fork(ctx context.Context, execution string, at uint64, key string) error {
	_, err := e.Launcher().Fork(ctx, "", execution, host.ForkRequest{At: at, Key: key})
	return err
}

func (e inProcess) run(ctx context.Context, execution string) (string, error) {
	row, err := e.Observer().Poll(ctx, "", execution)
	if err != nil {
		return "", err
	}
	return row.Run.String(), nil
}

func (e inProcess) restart(ctx context.Context, execution, requestID string) error {
	_, _, err := e.Launcher().Restart(ctx, "", execution, host.RestartRequest{RequestID: requestID})
	return err
}

func (e inProcess) deleteRun(ctx context.Context, execution, run string) error {
	return e.Maintenance().Delete(ctx, "", execution, run)
}

func (e inProcess) schedule(ctx context.Context, name string, r request) error {
	input, err := abi.Marshal(r.input)
	if err != nil {
		return err
	}
	_, err = e.Schedules().Create(ctx, journal.Schedule{
		Name:  name,
		Input: input,
		Spec:  journal.ScheduleSpec{Cron: "@yearly", Workflow: r.workflow},
		State: journal.ScheduleState{Paused: true},
	})
	return err
}

func (e inProcess) trigger(ctx context.Context, schedule, request string) (string, error) {
	run, err := e.Schedules().Trigger(ctx, "", schedule, request)
	return run.Execution, err
}

func (e inProcess) pending(ctx context.Context, execution string) ([]string, error) {
	d, err := e.Observer().Describe(ctx, "", execution)
	if err != nil {
		return nil, err
	}
	var ops []string
	for _, p := range d.Pending {
		ops = append(ops, p.Kind+" "+p.Name)
	}
	return ops, nil
}

func (e inProcess) poll(ctx context.Context, execution string) error {
	_, err := e.Observer().Poll(ctx, "", execution)
	return err
}

func (e inProcess) wait(ctx context.Context, execution string) (ending, error) {
	row, err := e.Observer().Wait(ctx, "", execution)
	if err == nil {
		row, err = e.Observer().Whole(ctx, row)
	}
	if err != nil {
		return ending{}, err
	}
	end := ending{state: string(row.State), err: row.Error}
	if row.Error == nil {
		err = abi.Unmarshal(row.Value, &end.value)
	}
	return end, err
}
