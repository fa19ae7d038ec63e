package client

import (
	"context"
	"iter"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// Latest names the module that a deployment points at, where a digest is asked for.
const Latest = "latest"

// Misfit is the error of a module that does not fit the journal of an execution. It shows the
// journal beside the steps of the code, and wraps the *abi.Error with the code abi.CodeDoesNotFit.
type Misfit = rpcerror.Misfit

// Move has a running or paused execution go on with another module: [Latest] or a digest. The host replays the journal
// on that module first. If it does not fit, nothing is changed and the error is a [*Misfit]. If it fits, the execution
// goes on there, also if it was paused.
func (c *Client) Move(ctx context.Context, execution, to string) (*crusterv1.Execution, error) {
	resp, err := c.Workflows().MoveExecution(
		ctx, &crusterv1.MoveExecutionRequest{Namespace: c.namespace, Execution: execution, To: to},
	)
	if err != nil {
		return nil, err
	}
	return resp.GetExecution(), nil
}

// MoveAllRequest says which executions to move, and where.
type MoveAllRequest struct {
	// State is [Running] or [Paused]. Defaults to both.
	State State
	// To is the module, as in [Client.Move]. Defaults to [Latest].
	To string
	// Workflow is "deployment/Workflow", or "deployment/" for all of a deployment.
	Workflow string
}

// MoveAll is [Client.Move] for the open executions of a workflow or a deployment. It yields the
// outcome of one after the other, and goes on after a failed move. An error is the last it yields:
// moves yielded before are done, and MoveAll may be called again for the rest.
func (c *Client) MoveAll(ctx context.Context, req MoveAllRequest) iter.Seq2[*crusterv1.MoveExecutionsResponse, error] {
	return func(yield func(*crusterv1.MoveExecutionsResponse, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends the stream if the loop is left
		stream, err := c.Workflows().MoveExecutions(ctx, &crusterv1.MoveExecutionsRequest{
			Namespace: c.namespace, Workflow: req.Workflow, State: wireState(req.State), To: req.To,
		})
		if err != nil {
			yield(nil, rpcerror.From(err))
			return
		}
		receiveAll(stream.Recv, yield)
	}
}

// ForkRequest says where to fork an execution.
type ForkRequest struct {
	// At is the sequence number of the last entry of the journal that the fork takes over; 0 takes over none.
	At uint64
	// Key of the fork, used as it is. Defaults to one made of the original's key.
	Key string
	// To is the module, as in [Client.Move]. Defaults to the original's.
	To string
}

// Fork starts a new run from a beginning of the journal of an execution, in whatever state that is.
// The steps up to there are taken over, not repeated; the original stays as it is.
func (c *Client) Fork(ctx context.Context, execution string, req ForkRequest) (*crusterv1.Execution, error) {
	resp, err := c.Workflows().ForkExecution(ctx, &crusterv1.ForkExecutionRequest{
		Namespace: c.namespace, Execution: execution, At: req.At, To: req.To, Key: req.Key,
	})
	if err != nil {
		return nil, err
	}
	return resp.GetExecution(), nil
}
