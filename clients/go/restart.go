package client

import (
	"context"
	"crypto/rand"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// RestartRequest says how to run a finished execution again.
type RestartRequest struct {
	// Input is the request of the new run. Defaults to the finished run's.
	Input any
	// To is the module, as in [Client.Move]. Defaults to [Latest].
	To string
	// RequestID makes it safe to repeat the request, also from another process: requests with the
	// same id start one run. Without it the client draws one, and repeats the request itself.
	RequestID string
}

// Restart starts a new run of an execution whose run has ended, under the same key. The finished
// run stays readable, by its run id, until retention deletes it. If another caller restarts it at
// the same time, existed is true and the run is that caller's.
func (c *Client) Restart(
	ctx context.Context, execution string, req RestartRequest,
) (exec *crusterv1.Execution, existed bool, err error) {
	wire := &crusterv1.RestartExecutionRequest{
		Namespace: c.namespace, Execution: execution, To: req.To, RequestId: req.RequestID,
	}
	if wire.RequestId == "" {
		wire.RequestId = rand.Text()
	}
	if req.Input != nil {
		input, err := abi.Marshal(req.Input)
		if err != nil {
			return nil, false, abi.Errorf(abi.CodeBadInput, "the request of %s does not encode: %v", execution, err)
		}
		wire.Input = packed(input)
	}
	resp, err := c.Workflows().RestartExecution(ctx, wire)
	if err != nil {
		return nil, false, err
	}
	return resp.GetExecution(), resp.GetExisted(), nil
}

// Delete deletes an execution whose run has ended, with all of its earlier runs; or one run, by its
// id.
func (c *Client) Delete(ctx context.Context, execution, runID string) error {
	_, err := c.Workflows().DeleteExecution(ctx, &crusterv1.DeleteExecutionRequest{
		Namespace: c.namespace, Execution: execution, RunId: runID,
	})
	return err
}
