package crustertest

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// world is the simulated host: a virtual clock, a queue of events, and the executions. One goroutine runs all of it.
type world struct {
	cfg   *config
	now   time.Time
	queue events
	// planned counts the events, ops the ops that were issued.
	planned, ops int
	runs         map[string]*run
	modules      map[string]*module // by the deployment
	broken       error              // why the test has no modules
	entities     *Entities
	// locks are the locks of entities that are held, or were.
	locks map[string]*lock
	// unsettled counts the messages of entities that are under way.
	unsettled int
	// tested is the execution under test, and reached the steps that it asked for; see When.
	tested  string
	reached []string
	// turning says that a workflow takes a turn, and afterTurn holds the work deferred until its
	// end.
	turning   bool
	afterTurn []func()
	// hung is the real time that attempts took which did not come back.
	hung time.Duration
}

// event is a function to call at a virtual time. Events due at the same time all happen first and
// are delivered afterwards: work in the order in which it was planned, deliveries in the order in
// which their ops were issued. A host does the same.
type event struct {
	at      time.Time
	issued  int // the number of the op; zero for work
	planned int
	apply   func()
}

type events []event

func (q events) Len() int { return len(q) }

func (q events) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.issued, b.issued), cmp.Compare(a.planned, b.planned)) < 0
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

func newWorld(cfg *config) *world {
	w := &world{cfg: cfg, now: cfg.start, runs: map[string]*run{}, entities: cfg.entities, locks: map[string]*lock{}}
	if w.entities == nil {
		w.entities = NewEntities(nil)
	}
	if w.modules, w.broken = cfg.modules(); w.broken == nil && cfg.migrate != nil {
		cfg.migrate(slices.SortedFunc(maps.Values(w.modules), func(a, b *module) int {
			return strings.Compare(a.deployment, b.deployment)
		}))
	}
	return w
}

// after plans work after d.
func (w *world) after(d time.Duration, apply func()) {
	w.plan(event{at: w.now.Add(max(d, 0)), apply: apply})
}

// deliverAfter plans a delivery after d; issued numbers its op among the ops of all executions.
func (w *world) deliverAfter(d time.Duration, issued int, apply func()) {
	w.plan(event{at: w.now.Add(max(d, 0)), issued: issued, apply: apply})
}

func (w *world) plan(e event) {
	w.planned++
	e.planned = w.planned
	heap.Push(&w.queue, e)
}

// up is t, or when the host is back if it is away then.
func (w *world) up(t time.Time) time.Time {
	for _, d := range w.cfg.down {
		if since := t.Sub(w.cfg.start); d.from <= since && since < d.to {
			t = w.cfg.start.Add(d.to)
		}
	}
	return t
}

// execute runs a workflow to its end.
func (w *world) execute(deployment, workflow string, body []byte) *abi.Outcome {
	defer w.close()
	if w.broken != nil {
		return &abi.Outcome{Error: abi.Errorf(abi.CodeWrongContext, "%v", w.broken)}
	}
	call := abi.Call{Workflow: deployment + "/" + workflow, Input: body}
	m, name, key, err := w.resolve(deployment, &call)
	if err != nil {
		return &abi.Outcome{Error: abi.AsError(err)}
	}
	id := cmp.Or(w.cfg.executionID, executionID(deployment, name, key))
	first := newRun(w, m, id, name, call.Input)
	for _, apply := range w.cfg.early {
		apply(first)
	}
	w.tested = id
	w.happen(nil, w.cfg.outside)
	if first.outcome == nil {
		first.start()
	}
	for w.runs[id].outcome == nil {
		if len(w.queue) == 0 {
			last := w.runs[id]
			last.finish(&abi.Outcome{Error: abi.Errorf(abi.CodeGuestDeadlock,
				"deadlock: the workflow waits for %s, and nothing is pending", last.waitsFor())})
			break
		}
		w.step()
	}
	for (w.unsettled > 0 || w.stopping()) && len(w.queue) > 0 {
		w.step() // messages to entities still take effect, and abandoned operations clean up
	}
	last := w.runs[id]
	if w.cfg.history != nil {
		*w.cfg.history = last.recorded()
	}
	if err := w.unreached(last.outcome); err != nil {
		w.cfg.fail(err)
		return &abi.Outcome{Error: err}
	}
	return last.outcome
}

// step lets the next event happen.
func (w *world) step() {
	e := heap.Pop(&w.queue).(event)
	if at := w.up(e.at); at.After(w.now) {
		w.now = at
	}
	if w.cfg.shared { // an activity may have waited
		if now := time.Now().UTC().Round(0); now.After(w.now) {
			w.now = now
		}
	}
	e.apply()
}

// soon calls act, but not in the middle of a turn: only the workflow's own code may run in its
// bubble.
func (w *world) soon(act func()) {
	if w.turning {
		w.afterTurn = append(w.afterTurn, act)
		return
	}
	act()
}

// turn has a workflow take a turn in its bubble.
func (w *world) turn(b *bubble, take func()) *abi.Error {
	w.turning = true
	err := b.turn(w.now, w.cfg.turnLimit, take)
	w.turning = false
	acts := w.afterTurn
	w.afterTurn = nil
	for _, act := range acts {
		act()
	}
	return err
}

func (w *world) close() {
	ids := make([]string, 0, len(w.runs))
	for id := range w.runs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		w.runs[id].close()
	}
}

// call starts another workflow for a deployment, or finds the execution that has its key.
func (w *world) call(from string, c abi.Call, by caller) (*run, *abi.Error) {
	if stub, ok := w.cfg.workflows[c.Workflow]; ok {
		return w.callStub(from, c, stub, by)
	}
	m, name, key, err := w.resolve(from, &c)
	if err != nil {
		return nil, abi.AsError(err)
	}
	id := executionID(m.deployment, name, key)
	if r, ok := w.runs[id]; ok {
		return r, nil
	}
	child := newRun(w, m, id, name, c.Input)
	child.caller = by
	w.after(0, child.start)
	return child, nil
}

// resolve finds the workflow of a call and its key, and checks its input as a host does.
func (w *world) resolve(from string, c *abi.Call) (m *module, name, key string, err error) {
	deployment, name, found := strings.Cut(c.Workflow, "/")
	if !found {
		deployment, name = from, c.Workflow
	}
	if m, err = w.module(deployment, "StubWorkflow"); err != nil {
		return nil, "", "", err
	}
	if c.Input, err = m.checkRequest(name, c.Input); err != nil {
		return nil, "", "", err
	}
	key, err = m.callKey(name, *c)
	return m, name, key, err
}

// checkStart refuses a start that a host refuses.
func (w *world) checkStart(from string, c abi.Call) error {
	if _, ok := w.cfg.workflows[c.Workflow]; ok {
		return nil
	}
	_, _, _, err := w.resolve(from, &c)
	return err
}

// checkRequest checks a request as the host does.
func (m *module) checkRequest(workflow string, body []byte) ([]byte, error) {
	wf, ok := m.Workflow(workflow)
	if !ok {
		return nil, abi.Errorf(abi.CodeUnknownWorkflow, "there is no workflow %s in this module", workflow)
	}
	info := abi.WorkflowInfo{Name: workflow, Input: guest.SchemaOf(wf.Input)}
	return info.CheckRequest(body)
}

// callStub makes an execution that ends as soon as it starts.
func (w *world) callStub(from string, c abi.Call, stub func([]byte) ([]byte, error), by caller) (*run, *abi.Error) {
	m := &module{from, &guest.Registry{}}
	key, err := m.callKey("", c)
	if err != nil {
		return nil, abi.AsError(err)
	}
	id := executionID(from, c.Workflow, key)
	if r, ok := w.runs[id]; ok {
		return r, nil
	}
	r := newRun(w, m, id, c.Workflow, c.Input)
	r.caller = by
	w.after(0, func() {
		if r.outcome != nil {
			return // terminated
		}
		value, err := stub(c.Input)
		if err != nil {
			e := guest.NewError(abi.CodeWorkflowFailed, err)
			if errors.Is(err, guest.ErrInterrupted) {
				e = abi.Errorf(abi.CodeInterrupted, "%v", err)
			}
			r.finish(&abi.Outcome{Error: e})
			return
		}
		r.finish(&abi.Outcome{Value: value})
	})
	return r, nil
}

func executionID(deployment, workflow, key string) string {
	if strings.Contains(workflow, "/") {
		return workflow + "/" + key
	}
	return deployment + "/" + workflow + "/" + key
}

// callKey is the key of a call: the one given with it, or a derived one.
func (m *module) callKey(workflow string, c abi.Call) (string, error) {
	switch c.KeyMode {
	case abi.KeyHashed:
		return hash.OfString(c.Key), abi.CheckKey(c.Key)
	case abi.KeyRaw:
		return c.Key, abi.CheckKey(c.Key)
	}
	return m.deriveKey(workflow, c.Input)
}

// askKey calls a key function, where a hanging one is detected.
func (m *module) askKey(workflow string, body []byte) *abi.Outcome {
	var out *abi.Outcome
	b := newBubble()
	defer b.close()
	if stuck := b.do(defaultTurnLimit, func() {
		_, out = m.Start(nil, abi.Invocation{Kind: abi.InvokeKey, Name: workflow, Body: body}, guest.Options{})
	}); stuck != nil {
		return &abi.Outcome{
			Error: abi.Errorf(
				abi.CodeKeyFunction, "the key function of %q failed: %s", workflow, stuck.Message,
			).WithHint("%s", stuck.Hint),
		}
	}
	return out
}

// deriveKey computes the key of a request as the host does.
func (m *module) deriveKey(workflow string, body []byte) (string, error) {
	wf, ok := m.Workflow(workflow)
	if !ok || wf.Key == nil {
		return hash.Of(body)
	}
	out := m.askKey(workflow, body)
	if out.Error != nil {
		return "", out.Error
	}
	if wf.KeyMode == abi.KeyFromFunctionHashed {
		return hash.Of(out.Value)
	}
	var key string
	if err := abi.Unmarshal(out.Value, &key); err != nil {
		return "", fmt.Errorf("the key of %s: %w", workflow, err)
	}
	return key, abi.CheckKey(key)
}
