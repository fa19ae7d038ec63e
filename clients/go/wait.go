package client

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// waitOfACall is how long one call waits for the end of an execution; then the client asks again. Proxies cut off calls
// that are silent for a minute or longer.
const waitOfACall = 50 * time.Second

// Await waits until an execution is final or paused, for as long as ctx lets it: with as many calls as that takes, each
// of which waits for less than a minute.
func (c *Client) Await(ctx context.Context, req *crusterv1.WaitExecutionRequest) (*crusterv1.Execution, error) {
	req, _ = proto.Clone(req).(*crusterv1.WaitExecutionRequest) // the caller's stays as it is
	req.Wait = durationpb.New(waitOfACall)
	for {
		resp, err := c.Workflows().WaitExecution(ctx, req)
		if err != nil || resp.GetExecution().GetState() != crusterv1.State_STATE_RUNNING {
			return resp.GetExecution(), err
		}
	}
}

// Execute starts an execution and awaits its end, or finds the execution that was started under the same key. If
// another run takes its name meanwhile, that one is not waited for.
func (c *Client) Execute(
	ctx context.Context, start *crusterv1.StartOptions, encoding crusterv1.Encoding,
) (exec *crusterv1.Execution, existed bool, err error) {
	resp, err := c.Workflows().StartExecution(ctx, &crusterv1.StartExecutionRequest{
		Start: start, Encoding: encoding, Wait: durationpb.New(waitOfACall),
	})
	exec = resp.GetExecution()
	if err == nil && exec.GetState() == crusterv1.State_STATE_RUNNING {
		exec, err = c.Await(ctx, &crusterv1.WaitExecutionRequest{
			Namespace: start.GetNamespace(), Execution: exec.GetName(), RunId: exec.GetChainId(), Encoding: encoding,
		})
	}
	return exec, resp.GetExisted(), err
}
