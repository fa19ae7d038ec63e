package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// FollowRequest selects the execution to follow.
type FollowRequest struct {
	// After is the sequence number of the last entry seen. Defaults to the beginning.
	After uint64
	// Encoding is the wanted form of values. Defaults to msgpack.
	Encoding crusterv1.Encoding
	// Execution is "deployment/Workflow/key".
	Execution string
	// Run is the id of the run to follow, in hex. Defaults to the newest.
	Run string
}

// Follow yields the events of an execution, as they happen, until the execution ends: entries of
// its journal, log lines of its workflow and its activities, and the execution itself, which is the
// first message, comes again when its state or its run is another, and is the last. An error is the
// last it yields.
//
// If the host goes away, Follow looks for it as long as a call is repeated, and goes on behind the
// last entry that it yielded. Lines logged meanwhile are lost. It stays with its first run and the
// runs this continues as, also if another one takes the name.
func (c *Client) Follow(ctx context.Context, req FollowRequest) iter.Seq2[*crusterv1.FollowExecutionResponse, error] {
	return func(yield func(*crusterv1.FollowExecutionResponse, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends the stream if the loop is left
		f := &follower{
			client: c, yield: yield,
			req: &crusterv1.FollowExecutionRequest{
				Namespace: c.namespace,
				Execution: req.Execution,
				ChainId:   req.Run,
				After:     req.After,
				Encoding:  req.Encoding,
			},
		}
		var deadline time.Time // of tries without an answer
		for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
			told, err := f.receive(ctx)
			if err == nil {
				return
			}
			if told {
				backoff, deadline = firstBackoff, time.Time{}
			}
			delay, again := c.retry.delay(err, true, backoff)
			if deadline.IsZero() {
				deadline = time.Now().Add(c.retry.budget)
			}
			if !again || !pause(ctx, err, delay, deadline) {
				yield(nil, rpcerror.From(err))
				return
			}
		}
	}
}

// follower is how far a caller of Follow is.
type follower struct {
	client *Client
	req    *crusterv1.FollowExecutionRequest
	yield  func(*crusterv1.FollowExecutionResponse, error) bool
}

// receive yields the messages of one stream. It returns nil if there is nothing more to be
// yielded, and tells whether there was a message.
func (f *follower) receive(ctx context.Context) (told bool, err error) {
	stream, err := f.client.Workflows().FollowExecution(ctx, f.req)
	if err != nil {
		return false, err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return told, nil
		}
		if err != nil {
			return told, err
		}
		told = true
		if e := m.GetEntry(); e != nil {
			f.req.After = e.GetSeq()
		}
		if run := m.GetExecution().GetRunId(); run != "" && run != f.req.GetRunId() {
			if f.req.GetRunId() != "" {
				f.req.After = 0
			}
			f.req.RunId = run
		}
		if chain := m.GetExecution().GetChainId(); chain != "" {
			f.req.ChainId = chain
		}
		if !f.yield(m, nil) {
			return told, nil
		}
	}
}
