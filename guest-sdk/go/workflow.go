package cruster

import (
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Workflow is a durable function from Req to Res. Make one with [NewWorkflow]; call it from another workflow through
// its [Workflow.Client].
type Workflow[Req, Res any] struct {
	name       string
	registered *guest.Workflow
}

// WorkflowOption is an option of [NewWorkflow].
type WorkflowOption[Req any] func(*guest.Workflow)

// RawKey derives the idempotency key of a request: the string that key returns is the key. Two starts with the same key
// are one execution.
func RawKey[Req any](key func(Req) string) WorkflowOption[Req] {
	return keyOption(abi.KeyFromFunctionRaw, key)
}

// HashedKey derives the idempotency key of a request as the SHA-256 of the value that key returns, such as a string or
// a struct of the fields that matter.
func HashedKey[Req, K any](key func(Req) K) WorkflowOption[Req] {
	return keyOption(abi.KeyFromFunctionHashed, key)
}

func keyOption[Req, K any](mode string, key func(Req) K) WorkflowOption[Req] {
	return func(w *guest.Workflow) {
		w.KeyMode = mode
		w.Key = func(body []byte) ([]byte, error) {
			req, err := decodeRequest[Req](w.Name, body)
			if err != nil {
				return nil, err
			}
			return encode("the key", "", key(req))
		}
	}
}

// NewWorkflow registers a workflow. Call it at package level, so that every instance of the module has the workflow.
// Without an option the idempotency key of a request is the SHA-256 of the whole request.
//
// It panics if the name is invalid or already registered.
func NewWorkflow[Req, Res any](
	name string, fn func(Context, Req) (Res, error), opts ...WorkflowOption[Req],
) *Workflow[Req, Res] {
	w := &guest.Workflow{
		Name:        name,
		KeyMode:     abi.KeyFromRequest,
		Input:       reflect.TypeFor[Req](),
		Output:      reflect.TypeFor[Res](),
		Interrupted: &opInterrupted,
		Receive:     &opReceive,
		Run: func(s guest.Scope, body []byte) ([]byte, error) {
			req, err := decodeRequest[Req](name, body)
			if err != nil {
				return nil, err
			}
			res, err := fn(Context{scope: s}, req)
			if err != nil {
				return nil, continued[Req](name, err)
			}
			return encode("the result of workflow ", name, res)
		},
	}
	for _, o := range opts {
		o(w)
	}
	w.Package = guest.Register(func(r *guest.Registry) { r.AddWorkflow(w) })
	return &Workflow[Req, Res]{name: name, registered: w}
}

// Accepted is an input that a workflow accepts while it runs: a [Signal], a [Deferred] or a
// [DynamicDeferred] of any type; see [Workflow.Accepts].
type Accepted interface {
	// Name is its name.
	Name() string
	acceptedBy(w *guest.Workflow)
}

var (
	_ Accepted = Signal[None]{}
	_ Accepted = Deferred[None]{}
	_ Accepted = DynamicDeferred[None]{}
)

// Accepts declares the signals that the workflow can be sent, and its deferreds: it is sent no other signals, and no
// other deferreds are settled. Call it where the workflow is made, at package level:
//
//	var ProcessOrder = cruster.NewWorkflow("ProcessOrder", processOrder).Accepts(Paid, Approved)
//
// It panics if the workflow accepts a signal of that name already, or a deferred that has names in common with this
// one.
func (w *Workflow[Req, Res]) Accepts(all ...Accepted) *Workflow[Req, Res] {
	for _, a := range all {
		a.acceptedBy(w.registered)
	}
	return w
}

// Name is the name the workflow was registered under.
func (w *Workflow[Req, Res]) Name() string { return w.name }

// Client calls the workflow of this deployment.
func (w *Workflow[Req, Res]) Client() Client[Req, Res] {
	return Client[Req, Res]{workflow: w.name}
}

func decodeRequest[Req any](name string, body []byte) (Req, error) {
	req, err := decode[Req](body)
	if err != nil {
		return req, &guest.BadInput{Reason: abi.Errorf(abi.CodeBadInput, "the request does not fit %s: %v", name, err)}
	}
	return req, nil
}
