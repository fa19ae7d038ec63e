package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// StartRequest asks for an execution.
type StartRequest struct {
	Namespace string
	// Workflow is "deployment/Name".
	Workflow string
	// Input is the request, one msgpack value; nil if there is none.
	Input []byte
	// Key and KeyMode override the key that the workflow derives: see
	// abi.KeyHashed and abi.KeyRaw.
	Key     string
	KeyMode string
}

// StartWorkflow starts an execution, or finds the one that was started under
// the same key. It returns once the start is durable; existed tells which.
func (e *Engine) StartWorkflow(ctx context.Context, req StartRequest) (row *journal.Execution, existed bool, err error) {
	if err := e.admit(); err != nil {
		return nil, false, err
	}
	return e.startWorkflow(ctx, req, journal.ID{}, 0)
}

func (e *Engine) startWorkflow(ctx context.Context, req StartRequest, parent journal.ID, parentOp uint32) (*journal.Execution, bool, error) {
	if err := e.accepting(); err != nil {
		return nil, false, err
	}
	row, err := e.prepare(ctx, req)
	if err != nil {
		return nil, false, err
	}
	row.Parent, row.ParentOp = parent, parentOp
	e.fault(FaultStartBeforeCommit)
	e.beginStart(row.ID)
	res, err := e.commitStart(ctx, row)
	e.endStart(row, res, err)
	if err != nil {
		return nil, false, storeError("start "+row.Name(), err)
	}
	if res.Existed {
		found, err := e.loadRow(ctx, row.ID, row.Name())
		return found, true, err
	}
	e.metrics.started.Inc()
	e.fault(FaultStartAfterCommit)
	return row, false, nil
}

// starting is a start on its way to the journal. From the moment it is durable
// until its caller is scheduled again anybody may find it in the store, load it,
// run it to its end and forget it. Who then brings its row along as that of a
// new execution would run it a second time.
type starting struct {
	callers int
	found   bool // somebody else has loaded it
}

func (e *Engine) beginStart(id journal.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.starting[id]
	if s == nil {
		s = &starting{found: e.runs[id] != nil}
		e.starting[id] = s
	}
	s.callers++
}

// endStart sets the execution to work, if there may be a new one.
func (e *Engine) endStart(row *journal.Execution, res journal.Result, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.starting[row.ID]
	if s.callers--; s.callers == 0 {
		delete(e.starting, row.ID)
	}
	switch {
	case errors.Is(err, journal.ErrUndecided):
		// It was given up before the store could tell. If it is there it must run.
		e.postLocked(row.ID, wakeMail{})
	case err != nil || res.Existed:
	case s.found && e.runs[row.ID] == nil:
		e.postLocked(row.ID, wakeMail{})
	default:
		e.postLocked(row.ID, startMail{row: row})
	}
}

// commitStart makes a start durable. If the answer to its commit was lost, the
// row tells: had it been somebody else's, it would have been there before.
func (e *Engine) commitStart(ctx context.Context, row *journal.Execution) (journal.Result, error) {
	res, err := e.commit(journal.Write{ID: row.ID, Start: row})
	for delay := 20 * time.Millisecond; errors.Is(err, journal.ErrUndecided) && ctx.Err() == nil; delay = min(2*delay, 5*time.Second) {
		found, lerr := e.store.Load(ctx, row.ID)
		switch {
		case lerr == nil && found.CreatedAt == row.CreatedAt:
			return journal.Result{}, nil
		case lerr == nil:
			return journal.Result{Existed: true}, nil
		case errors.Is(lerr, journal.ErrNotFound):
			res, err = e.commit(journal.Write{ID: row.ID, Start: row})
		default:
			wait(ctx, delay)
		}
	}
	return res, err
}

// prepare validates a request and makes the row of its execution. Nothing is
// stored.
func (e *Engine) prepare(ctx context.Context, req StartRequest) (*journal.Execution, error) {
	deploymentName, name, ok := strings.Cut(req.Workflow, "/")
	if !ok || deploymentName == "" || name == "" {
		return nil, abi.Errorf(abi.CodeUnknownWorkflow, "%.200q does not name a workflow", req.Workflow)
	}
	namespace := namespaceOf(req.Namespace)
	d, err := e.modules.deployment(ctx, namespace, deploymentName)
	if err != nil {
		return nil, err
	}
	m, err := e.modules.get(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	w := m.workflow(name)
	if w == nil {
		return nil, unknownWorkflow(m, deploymentName, name)
	}
	input, err := checkInput(w, req.Input)
	if err != nil {
		return nil, err
	}
	key, err := e.deriveKey(ctx, m, w, input, req.Key, req.KeyMode)
	if err != nil {
		return nil, err
	}
	return &journal.Execution{
		ID: journal.IDOf(namespace, req.Workflow, key), Namespace: namespace, Workflow: req.Workflow, Key: key,
		Digest: d.Digest, Input: input, State: journal.Running, WakeAt: journal.Now, CreatedAt: e.now().UnixNano(),
	}, nil
}

func unknownWorkflow(m *module, deployment, name string) error {
	var names []string
	for _, w := range m.manifest.Workflows {
		names = append(names, deployment+"/"+w.Name)
	}
	return abi.Errorf(abi.CodeUnknownWorkflow, "deployment %q has no workflow %.100q", deployment, name).
		WithHint("It has %s.", strings.Join(names, ", "))
}

// checkInput bounds the request, makes it canonical and holds it against the
// workflow's type.
func checkInput(w *abi.WorkflowInfo, input []byte) ([]byte, error) {
	if input == nil {
		input = absentInput(w.Input)
	}
	if len(input) > abi.MaxPayload {
		return nil, abi.Errorf(abi.CodePayloadTooLarge, "the input has %d bytes, the limit is %d", len(input), abi.MaxPayload)
	}
	canonical, err := abi.Canonical(input)
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadInput, "the input is not one msgpack value: %v", err)
	}
	if w.Input != nil {
		if err := w.Input.Check(canonical); err != nil {
			return nil, err
		}
	}
	return canonical, nil
}

// absentInput stands for a request that was left out: one with nothing in it, if
// the workflow asks for no more, and null otherwise.
func absentInput(s *abi.Schema) []byte {
	if s == nil || s.Type != abi.TypeStruct || s.Nullable {
		return abi.Nil
	}
	for _, f := range s.Fields {
		if f.Required {
			return abi.Nil
		}
	}
	return abi.MustMarshal(map[string]any{})
}

// Overloaded is the error of a host that is full.
type Overloaded struct {
	Reason *abi.Error
	// After is when to try again.
	After time.Duration
}

func (o *Overloaded) Error() string { return o.Reason.Error() }
func (o *Overloaded) Unwrap() error { return o.Reason }

// RetryDelay is the delay that an overloaded host asked for; 0 if err is
// something else.
func RetryDelay(err error) time.Duration {
	var o *Overloaded
	if errors.As(err, &o) {
		return o.After
	}
	return 0
}

// maxQueuedWrites is how many writes may wait for the committer before starts
// are refused.
const maxQueuedWrites = 16_384

// admit refuses a start when the host is full. Executions that are under way are
// never refused anything: they must be able to finish.
func (e *Engine) admit() error {
	if err := e.accepting(); err != nil {
		return err
	}
	n := e.inMemory()
	if n < e.cfg.MaxExecutions && e.committer.Queued() < maxQueuedWrites {
		return nil
	}
	e.metrics.refused.Inc()
	return &Overloaded{
		Reason: abi.Errorf(abi.CodeOverloaded, "the host holds %d executions, the limit is %d", n, e.cfg.MaxExecutions),
		After:  time.Second,
	}
}
