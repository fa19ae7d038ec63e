package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// driver is a client that outlives the engines it talks to. A test can make an
// engine crash when it passes a fault point for the n-th time; another engine then
// starts on the same store, and the client repeats the requests that got no reply.
type driver struct {
	t       *testing.T
	store   journal.Store
	runtime *wasm.Runtime
	evict   bool

	mu      sync.Mutex
	engine  *life          // guarded by mu
	passed  map[string]int // guarded by mu; how often each fault point was passed, by all engines
	crashAt string         // guarded by mu; the fault point to crash at; "" = never
	crashOn int            // guarded by mu; at which passing
	next    []crash        // guarded by mu; crashes of later engines
}

// crash is the n-th passing of a fault point, at which an engine crashes.
type crash struct {
	point string
	n     int
}

// life is one engine from its start to its crash.
type life struct {
	*host.Engine
	born chan struct{} // closed when Engine is set
	died chan struct{} // closed when the engine has crashed
	once sync.Once
}

func newDriver(t *testing.T, store journal.Store, runtime *wasm.Runtime, evict bool) *driver {
	d := &driver{t: t, store: store, runtime: runtime, evict: evict, passed: map[string]int{}}
	d.bringUp()
	return d
}

func (d *driver) bringUp() {
	l := &life{born: make(chan struct{}), died: make(chan struct{})}
	l.Engine = harness.Engine(d.t, d.store, func(c *host.Config) {
		c.Runtime = d.runtime
		c.EvictAlways = d.evict
		c.FaultPoint = func(point string) { d.pass(l, point) }
	})
	close(l.born)
	d.mu.Lock()
	d.engine = l
	d.mu.Unlock()
}

// pass counts the passing of a fault point, and crashes the engine if it is the
// one to crash at. The goroutine that passes it does not go on, as in a real crash.
func (d *driver) pass(l *life, point string) {
	<-l.born // recovery begins before the test has set l.Engine
	d.mu.Lock()
	dead := l.dead()
	if !dead {
		d.passed[point]++
	}
	hit := !dead && point == d.crashAt && d.passed[point] == d.crashOn
	if hit && len(d.next) > 0 {
		d.passed = map[string]int{}
		d.crashAt, d.crashOn, d.next = d.next[0].point, d.next[0].n, d.next[1:]
	}
	d.mu.Unlock()
	if hit {
		l.once.Do(func() {
			l.Kill()
			close(l.died)
		})
	}
	if hit || dead {
		runtime.Goexit()
	}
}

func (l *life) dead() bool {
	select {
	case <-l.died:
		return true
	default:
		return false
	}
}

// arm makes the engine crash at the n-th passing of a point from now on; with
// n = 0 it only counts.
func (d *driver) arm(point string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.passed = map[string]int{}
	d.crashAt, d.crashOn, d.next = point, n, nil
}

// alsoCrashAt makes the engine that follows the crash crash as well.
func (d *driver) alsoCrashAt(point string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = append(d.next, crash{point, n})
}

func (d *driver) counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.passed)
}

// current is the running engine; if it has crashed, a new one replaces it first.
func (d *driver) current() *life {
	d.mu.Lock()
	l := d.engine
	d.mu.Unlock()
	if l.dead() {
		require.NoError(d.t, l.Stop(context.Background()))
		d.bringUp()
		return d.current()
	}
	return l
}

// do repeats a request until an engine replies.
func do[T any](d *driver, request func(ctx context.Context, e *host.Engine) (T, error)) T {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	for ctx.Err() == nil {
		l := d.current()
		answered := make(chan answer, 1)
		go func() {
			value, err := request(ctx, l.Engine)
			answered <- answer{value, err}
		}()
		select {
		case a := <-answered:
			if a.err == nil {
				return a.value
			}
			if l.dead() || errors.Is(a.err, &abi.Error{Code: abi.CodeShuttingDown}) {
				continue
			}
			require.NoError(d.t, a.err)
		case <-l.died:
		}
	}
	d.t.Fatal("no engine answered")
	panic("unreachable")
}

// push deploys the module of an example, with a grant for the payment service.
func (d *driver) push(l language, s scenario, payments *charges) {
	harness.Push(d.t, d.current().Engine, s.example, l.folder(s.example), func(r *host.PushRequest) {
		r.Config = map[string]string{"payments_url": payments.url}
		r.AllowHTTP = []string{strings.TrimPrefix(payments.url, "http://")}
	})
}

// start starts a workflow and returns the name of its execution.
func (d *driver) start(workflow string, input any) string {
	encoded := harness.Encode(d.t, input)
	return do(d, func(ctx context.Context, e *host.Engine) (string, error) {
		row, _, err := e.StartWorkflow(ctx, host.StartRequest{Workflow: workflow, Input: encoded})
		if err != nil {
			return "", err
		}
		return row.Name(), nil
	})
}

// settle resolves a deferred. It may already be settled by a try before a crash.
func (d *driver) settle(execution, name string, value any) {
	encoded := harness.Encode(d.t, value)
	do(d, func(ctx context.Context, e *host.Engine) (struct{}, error) {
		err := e.Settle(ctx, "", execution, journal.Deferred{Name: name, Value: encoded})
		if errors.Is(err, &abi.Error{Code: abi.CodeDeferredSettled}) {
			err = nil
		}
		return struct{}{}, err
	})
}

// wait waits for the end of an execution.
func (d *driver) wait(execution string) *journal.Execution {
	return do(d, func(ctx context.Context, e *host.Engine) (*journal.Execution, error) {
		return e.Wait(ctx, "", execution)
	})
}

// query reads rows of the guests' tables.
func (d *driver) query(sql string, args ...any) [][]any {
	tx, err := d.store.BeginGuest(d.t.Context(), host.DefaultNamespace)
	require.NoError(d.t, err)
	defer func() { require.NoError(d.t, tx.Rollback(context.Background())) }()
	_, rows, err := tx.Query(d.t.Context(), sql, args)
	require.NoError(d.t, err)
	return rows
}

// varying matches what differs between two executions by design: ids derived
// from the key.
var varying = regexp.MustCompile(`[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// render renders a result for comparison, without the parts that differ from key
// to key.
func render(t *testing.T, key string, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	text = varying.ReplaceAll(text, []byte("ID"))
	return regexp.MustCompile(regexp.QuoteMeta(key)).ReplaceAllString(string(text), "KEY")
}

// outcome is everything that a caller can observe of an execution.
func outcome(t *testing.T, key string, row *journal.Execution) string {
	if row.Error != nil {
		return fmt.Sprintf("%s %s", row.State, render(t, key, row.Error.Message))
	}
	return fmt.Sprintf("%s %s", row.State, render(t, key, harness.Decode[any](t, row.Value)))
}
