package execution

import (
	"context"
	"errors"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Ref names an execution: by its id, and in the words of the caller.
type Ref struct {
	ID   journal.ID
	Name string
	// Chain is the target of the request, as the caller has seen it: a run and its continuations.
	// Zero means the current one.
	Chain journal.RunID
}

// RefTo names the chain of a row.
func RefTo(row *journal.Execution) Ref { return Ref{ID: row.ID, Name: row.Name(), Chain: row.Chain} }

// addressed is a message for the chain that the caller has looked at.
func (ref Ref) addressed(m notice) notice {
	if ref.Chain.IsZero() {
		return m
	}
	return ofChain{ref.Chain, m}
}

// RefOf finds the id of an execution by its namespace and its name,
// "deployment/Workflow/key".
func RefOf(namespace, name string) (Ref, error) {
	workflow, key, ok := journal.ParseName(name)
	if !ok {
		return Ref{}, abi.Errorf(abi.CodeExecutionNotFound, "%.300q does not name an execution", name)
	}
	return Ref{ID: journal.IDOf(namespace, workflow, key), Name: name}, nil
}

// Load reads the brief row of an execution.
func (x *Executions) Load(ctx context.Context, ref Ref) (*journal.Execution, error) {
	row, err := x.Store.Brief(ctx, ref.ID)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, noExecutionOf(ref)
	}
	if err != nil {
		return nil, journal.Coded("load "+ref.Name, err)
	}
	if !ref.Chain.IsZero() && row.Chain != ref.Chain {
		return nil, anotherRun()
	}
	return row, nil
}

// LoadRun is Load, and finds the chain that the reference names also if another one has taken its
// place.
func (x *Executions) LoadRun(ctx context.Context, ref Ref) (*journal.Execution, error) {
	row, err := x.Store.Brief(ctx, ref.ID)
	if !ref.Chain.IsZero() && (errors.Is(err, journal.ErrNotFound) || err == nil && row.Chain != ref.Chain) {
		row, err = x.Store.BriefRun(ctx, ref.ID, ref.Chain)
		if errors.Is(err, journal.ErrNotFound) {
			return nil, anotherRun()
		}
	}
	if errors.Is(err, journal.ErrNotFound) {
		return nil, noExecutionOf(ref)
	}
	if err != nil {
		return nil, journal.Coded("load "+ref.Name, err)
	}
	return row, nil
}

// Whole is a row with its input and its value, which are read if it is brief. The caller has paid for them.
func (x *Executions) Whole(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	if row.LeftOut == (journal.Sizes{}) {
		return row, nil
	}
	whole, err := x.Store.FindRun(ctx, row.ID, row.Run)
	switch {
	case errors.Is(err, journal.ErrNotFound) || err == nil && whole.Run != row.Run:
		return nil, runIsGone()
	case err != nil:
		return nil, journal.Coded("load "+row.Name(), err)
	}
	return whole, nil
}

func noExecutionOf(ref Ref) *abi.Error {
	return abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %.300q", ref.Name)
}

func checkReason(reason string) (string, error) {
	if len(reason) > abi.MaxReason {
		return "", abi.Errorf(abi.CodeBadRequest, "the reason has %d bytes, the limit is %d", len(reason), abi.MaxReason)
	}
	return strings.ToValidUTF8(reason, "\uFFFD"), nil
}

// ask posts a request to an execution and waits for the reply. It is for the chain that
// is there now, also if its answer is lost and it is received again.
func (x *Executions) ask(ctx context.Context, ref Ref, request func(reply chan<- error) notice) error {
	if err := x.Host.Accepting(); err != nil {
		return err
	}
	row, err := x.Load(ctx, ref)
	if err != nil {
		return err
	}
	reply := make(chan error, 1)
	x.runs.Post(ref.ID, ofChain{row.Chain, request(reply)})
	return x.await(ctx, ref, reply)
}

// await waits for the reply to a request.
func (x *Executions) await(ctx context.Context, ref Ref, reply <-chan error) error {
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return journal.Coded("ask "+ref.Name, ctx.Err())
	case <-x.Host.Context().Done():
		return x.Host.EndReason()
	}
}
