package crustertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Run executes a workflow to its end and returns its result, or the error that a client would see. The error of an
// interrupted workflow also matches [cruster.ErrInterrupted]. The workflow's log goes to the output of the test, each
// line with the place where it was logged. The error of a workflow that panics has the author's lines; its whole stack
// is in the output of go test -v.
func Run[Req, Res any](t testing.TB, wf *cruster.Workflow[Req, Res], req Req, opts ...Option) (Res, error) {
	t.Helper()
	var failed []error // said here, so that the line is the test's
	res, err := Execute(
		wf, req, append([]Option{logTo(t), failTo(func(err error) { failed = append(failed, err) })}, opts...)...,
	)
	for _, err := range failed {
		t.Errorf("%v", err)
	}
	return res, err
}

// Execute is [Run] without a test, for examples and fuzzing.
func Execute[Req, Res any](wf *cruster.Workflow[Req, Res], req Req, opts ...Option) (Res, error) {
	var res Res
	body, err := abi.Marshal(req)
	if err != nil {
		return res, fmt.Errorf("the request of %s: %w", wf.Name(), err)
	}
	cfg := newConfig(opts)
	out := newWorld(cfg).execute(cfg.deploymentOf(guest.PackageOf(wf)), wf.Name(), body)
	if out.Error != nil {
		return res, outcomeError(out.Error)
	}
	if err := abi.Unmarshal(out.Value, &res); err != nil {
		return res, fmt.Errorf("the result of %s: %w", wf.Name(), err)
	}
	return res, nil
}

// ExecuteNamed is [Execute] for a workflow known by its name, with or without its deployment's, and
// a request that need not have its type: for tables of cases, and for requests that a host has
// recorded. The request is checked as a host checks it.
func ExecuteNamed(workflow string, request any, opts ...Option) (any, error) {
	body, err := abi.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("the request of %s: %w", workflow, err)
	}
	cfg := newConfig(opts)
	deployment, name, found := strings.Cut(workflow, "/")
	if !found {
		deployment, name = cfg.deployment, workflow
	}
	out := newWorld(cfg).execute(deployment, name, body)
	if out.Error != nil {
		return nil, outcomeError(out.Error)
	}
	var res any
	if err := abi.Unmarshal(out.Value, &res); err != nil {
		return nil, fmt.Errorf("the result of %s: %w", workflow, err)
	}
	return res, nil
}

// outcomeError is the error that the workflow's caller would see. If the workflow was interrupted it also matches
// [cruster.ErrInterrupted], for tests.
func outcomeError(e *abi.Error) error {
	if e.Code == abi.CodeInterrupted {
		return &interruptedError{e}
	}
	return e
}

type interruptedError struct{ seen *abi.Error }

func (e *interruptedError) Error() string        { return e.seen.Error() }
func (e *interruptedError) Unwrap() error        { return e.seen }
func (e *interruptedError) Is(target error) bool { return target == cruster.ErrInterrupted }

// Option changes the simulated host that a workflow runs on.
type Option func(*config)

type config struct {
	activities  map[stepOf]*guest.Activity
	config      map[string]string
	database    Database
	deployed    map[string][]string // packages, by the deployment
	deployment  string
	down        []downtime
	early       []func(*run) // before the start
	entities    *Entities
	fail        func(error)
	executionID string
	history     *History
	http        func(cruster.HTTPRequest) (cruster.HTTPResponse, error)
	logf        func(string, ...any)
	namespace   string
	migrate     func([]*module)
	operations  []stubbedOperation
	outside     []outsideEvent
	places      []*awaitedPlace
	shared      bool // the test is in a bubble of its own
	start       time.Time
	takes       map[stepOf]func(guest.Attempt, []byte) (time.Duration, error)
	// transactionLimit is how long a transaction may be open.
	transactionLimit time.Duration
	turnLimit        time.Duration
	unpatched        map[string]bool
	workflows        map[string]func(body []byte) ([]byte, error)
}

// downtime is a time in which nothing happens, since the start.
type downtime struct{ from, to time.Duration }

// outsideEvent is something that happens to the execution at a given time.
type outsideEvent struct {
	after time.Duration
	apply func(*run)
}

// newEvents is a configuration of nothing, to which events can be added.
func newEvents() *config {
	return &config{
		activities:       map[stepOf]*guest.Activity{},
		config:           map[string]string{},
		deployed:         map[string][]string{},
		deployment:       "test",
		namespace:        "test",
		fail:             func(error) {},
		logf:             func(string, ...any) {},
		takes:            map[stepOf]func(guest.Attempt, []byte) (time.Duration, error){},
		transactionLimit: maxTransaction,
		turnLimit:        defaultTurnLimit,
		unpatched:        map[string]bool{},
		workflows:        map[string]func([]byte) ([]byte, error){},
	}
}

func newConfig(opts []Option) *config {
	c := newEvents()
	for _, o := range opts {
		o(c)
	}
	c.shared = inBubble()
	switch {
	case !c.start.IsZero():
	case c.shared:
		c.start = time.Now().UTC().Round(0)
	default:
		c.start = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return c
}

func failTo(fail func(error)) Option {
	return func(c *config) { c.fail = fail }
}

// StartTime is when the execution starts: in 2000 at the earliest. Defaults to the first of January
// 2030, UTC; in a test that is in a bubble of testing/synctest, to the time of the bubble.
func StartTime(t time.Time) Option {
	return func(c *config) { c.start = t.UTC() }
}

// Deployment names the deployment of the module, with which the names of its executions begin. Defaults to "test".
func Deployment(name string) Option {
	return func(c *config) { c.deployment = name }
}

// Namespace is the tenant of the executions. Defaults to "test".
func Namespace(name string) Option {
	return func(c *config) { c.namespace = name }
}

// Downtime says that the host is away from one virtual time after the start to another: stopped, or
// too busy. Ops that become due meanwhile are delivered when the host is back, in the order in
// which they became due. Clients reach it then too, and running activities go on.
func Downtime(from, to time.Duration) Option {
	return func(c *config) { c.down = append(c.down, downtime{from: from, to: to}) }
}

// ExecutionID names the execution. Defaults to DEPLOYMENT/WORKFLOW/KEY.
func ExecutionID(id string) Option {
	return func(c *config) { c.executionID = id }
}

// Config sets a configuration value that activities read.
func Config(name, value string) Option {
	return func(c *config) { c.config[name] = value }
}

// Record fills h with the history of the execution: if it has continued as new, of its last run,
// with the histories of earlier runs in h.Before.
func Record(h *History) Option {
	return func(c *config) { c.history = h }
}

// TurnLimit bounds the real time that the workflow may run without waiting for a durable call. A workflow that loops,
// or waits for something outside of it, fails after that time: with CR-4005 if it computes, with CR-4012 if it waits. A
// workflow that waits for itself fails at once. Defaults to ten seconds.
//
// A workflow waits for something outside if it waits for a lock of Go, or for a channel of the package, while other
// goroutines of the test run, sleep or wait in code that is not the SDK's: they may let go of it. On a host none would.
// A timer of the test is no goroutine: a lock that only time.AfterFunc lets go of is not waited for, and is a deadlock
// at once unless the timer is very short. Let a goroutine of the test sleep, and then let go of it.
//
// It also bounds how long attempts of activities that hang are tried again: once the test has
// waited for longer than that, in real time, the next attempt that exceeds its timeout fails its
// activity.
func TurnLimit(d time.Duration) Option {
	return func(c *config) { c.turnLimit = d }
}

// Unpatched says that the execution had passed the points of these changes before they were made: [cruster.Patched] is
// false for them. Without it, the execution is new and takes all changes.
func Unpatched(ids ...string) Option {
	return func(c *config) {
		for _, id := range ids {
			c.unpatched[id] = true
		}
	}
}

// HandleHTTP answers the HTTP calls of activities.
func HandleHTTP(handler func(cruster.HTTPRequest) (cruster.HTTPResponse, error)) Option {
	return func(c *config) { c.http = handler }
}

// ResolveAfter resolves a deferred of the execution from outside, at a virtual time after its start. If a host would
// refuse that, the execution ends with the reason: the test has a mistake.
//
// If the execution ends before that time, nothing happens: in the test of a timeout it comes too
// late. [When] ties it to a step instead, and fails if that is not reached.
func ResolveAfter[T any](d time.Duration, deferred cruster.Deferred[T], value T) Option {
	b, err := abi.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("crustertest: the value of deferred %s: %v", deferred.Name(), err))
	}
	return outside(d, func(r *run) { r.settleFromOutside(deferred.Name(), abi.Delivery{Value: b}) })
}

// RejectAfter rejects a deferred of the execution from outside.
func RejectAfter[T any](d time.Duration, deferred cruster.Deferred[T], cause error) Option {
	e := guest.NewError(abi.CodeDeferredRejected, cause)
	return outside(d, func(r *run) { r.settleFromOutside(deferred.Name(), abi.Delivery{Error: e}) })
}

// InterruptAfter asks the execution to stop.
func InterruptAfter(d time.Duration, reason string) Option {
	return outside(d, func(r *run) { r.interrupt(reason) })
}

func outside(d time.Duration, apply func(*run)) Option {
	return func(c *config) { c.outside = append(c.outside, outsideEvent{after: d, apply: apply}) }
}
