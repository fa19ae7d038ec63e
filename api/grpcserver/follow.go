package grpcserver

import (
	"encoding/hex"

	"google.golang.org/grpc"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func (w *workflowService) FollowExecution(
	req *crusterv1.FollowExecutionRequest, stream grpc.ServerStreamingServer[crusterv1.FollowExecutionResponse],
) error {
	ns, as, err := checkLookup(req)
	if err != nil {
		return err
	}
	from := host.FollowRequest{After: req.GetAfter()}
	if from.Run, err = runID(req.GetRunId()); err != nil {
		return err
	}
	if from.Chain, err = runID(req.GetChainId()); err != nil {
		return err
	}
	ctx, cancel := w.lifetime.bound(stream.Context())
	defer cancel()
	return w.engine.Observer.Follow(ctx, ns, req.GetExecution(), from, func(e host.FollowEvent) error {
		resp, err := followResponse(e, as)
		if err != nil {
			return err
		}
		defer arrivalOf(stream.Context()).limitSend()()
		return stream.Send(resp)
	})
}

// runID reads the id of a run; empty is the zero value.
func runID(text string) (id journal.RunID, err error) {
	if text == "" {
		return id, nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(id) {
		return id, abi.Errorf(abi.CodeBadRequest, "%.40q is not the id of a run", text)
	}
	return journal.RunID(raw), nil
}

func followResponse(e host.FollowEvent, as crusterv1.Encoding) (*crusterv1.FollowExecutionResponse, error) {
	switch {
	case e.Entry != nil:
		p, err := historyEntry(e.Entry, as)
		return &crusterv1.FollowExecutionResponse{Event: &crusterv1.FollowExecutionResponse_Entry{Entry: p}}, err
	case e.Line != nil:
		line := &crusterv1.FollowExecutionResponse_Line{Line: convert.LogLine(e.Line)}
		return &crusterv1.FollowExecutionResponse{Event: line}, nil
	default:
		p, err := convert.Execution(e.Execution, as)
		execution := &crusterv1.FollowExecutionResponse_Execution{Execution: p}
		return &crusterv1.FollowExecutionResponse{Event: execution}, err
	}
}
