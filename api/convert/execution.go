package convert

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/journal"
)

var states = map[journal.State]crusterv1.State{
	journal.Running:     crusterv1.State_STATE_RUNNING,
	journal.Paused:      crusterv1.State_STATE_PAUSED,
	journal.Completed:   crusterv1.State_STATE_COMPLETED,
	journal.Failed:      crusterv1.State_STATE_FAILED,
	journal.Interrupted: crusterv1.State_STATE_INTERRUPTED,
}

var ifFinished = map[crusterv1.IfFinished]host.IfFinished{
	crusterv1.IfFinished_IF_FINISHED_UNSPECIFIED:    "",
	crusterv1.IfFinished_IF_FINISHED_RETURN:         abi.ReturnFinished,
	crusterv1.IfFinished_IF_FINISHED_RESTART:        abi.RestartFinished,
	crusterv1.IfFinished_IF_FINISHED_RESTART_FAILED: abi.RestartFailed,
	crusterv1.IfFinished_IF_FINISHED_REFUSE:         abi.RefuseFinished,
}

// IfFinished converts a start's policy for a finished run.
func IfFinished(p crusterv1.IfFinished) (host.IfFinished, error) {
	policy, ok := ifFinished[p]
	if !ok {
		return "", abi.Errorf(abi.CodeBadRequest, "there is no if_finished %d", p)
	}
	return policy, nil
}

// StateFilter is the state that a caller filters by; an unspecified one is empty and lets every state pass.
func StateFilter(s crusterv1.State) (journal.State, error) {
	if s == crusterv1.State_STATE_UNSPECIFIED {
		return "", nil
	}
	for state, p := range states {
		if p == s {
			return state, nil
		}
	}
	return "", abi.Errorf(abi.CodeBadRequest, "there is no state %d", s)
}

// Execution makes a message of an execution, with its result in the given form.
func Execution(e *journal.Execution, as crusterv1.Encoding) (*crusterv1.Execution, error) {
	result, err := EncodePayload(e.Value, as)
	if err != nil {
		return nil, err
	}
	p := &crusterv1.Execution{
		Name:       rpcerror.Text(e.Name()),
		Namespace:  e.Namespace,
		Workflow:   e.Workflow,
		Key:        rpcerror.Text(e.Key),
		Id:         e.ID.String(),
		Digest:     e.Digest,
		State:      states[e.State],
		Result:     result,
		Error:      rpcerror.ToProto(e.Error),
		CreateTime: unixTimestamp(e.CreatedAt),
		EndTime:    unixTimestamp(e.FinishedAt),
		RunId:      e.Run.String(),
		Continued:  e.Continued,
		ChainId:    e.Chain.String(),
	}
	if e.Interrupt != nil {
		p.Interruption = &crusterv1.Interruption{
			RequestTime: unixTimestamp(e.Interrupt.At), Reason: rpcerror.Text(e.Interrupt.Reason),
		}
	}
	if !e.Parent.IsZero() {
		p.ParentId = e.Parent.ID.String()
	}
	return p, nil
}

// ListedExecution is Execution for a page of many: its error is cut to a size that leaves room for the others.
func ListedExecution(e *journal.Execution) (*crusterv1.Execution, error) {
	p, err := Execution(e, crusterv1.Encoding_ENCODING_MSGPACK)
	if err != nil {
		return nil, err
	}
	p.Error = rpcerror.Clipped(e.Error)
	return p, nil
}

// Description makes a message of the state of an execution, without its unbounded parts: see
// [PendingOp] and [SettledDeferred].
func Description(d *host.Description, as crusterv1.Encoding) (*crusterv1.GetExecutionResponse, error) {
	details := &crusterv1.ExecutionDetails{
		Entries: uint64(d.Entries), EntryLimit: d.EntryLimit, Fuel: d.Fuel, Resident: d.Resident,
	}
	resp := &crusterv1.GetExecutionResponse{Details: details}
	var err error
	if resp.Execution, err = Execution(&d.Execution, as); err != nil {
		return nil, err
	}
	resp.Execution.Parent = rpcerror.Text(d.ParentName)
	if details.Input, err = EncodePayload(d.Input, as); err != nil {
		return nil, err
	}
	for _, name := range d.Circle {
		details.Circle = append(details.Circle, rpcerror.Text(name))
	}
	for _, p := range d.Patches {
		details.Patches = append(details.Patches, &crusterv1.Patch{Id: rpcerror.Text(p.ID), Taken: p.Taken, Seq: p.Seq})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Unread)) {
		details.Unread = append(details.Unread, &crusterv1.UnreadSignals{
			Name: rpcerror.Text(name), Count: uint32(d.Unread[name]),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Unanswered)) {
		details.Unanswered = append(details.Unanswered, &crusterv1.UnansweredUpdates{
			Name: rpcerror.Text(name), Count: uint32(d.Unanswered[name]),
		})
	}
	for i := range d.Earlier {
		p, err := ListedExecution(&d.Earlier[i])
		if err != nil {
			return nil, err
		}
		details.Earlier = append(details.Earlier, p)
	}
	details.EarlierMore = d.EarlierMore
	if d.Published == nil {
		return resp, nil
	}
	resp.Execution.Attributes, resp.Execution.Progress = Attributes(d.Published), Progress(d.Published)
	details.Published, err = PublishedState(d.Published, "", as)
	return resp, err
}

// SettledDeferred makes a message of a settled deferred, with its value in the given form.
func SettledDeferred(d *journal.Deferred, as crusterv1.Encoding) (*crusterv1.SettledDeferred, error) {
	value, err := EncodePayload(d.Value, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.SettledDeferred{
		Name: rpcerror.Text(d.Name), SettleTime: unixTimestamp(d.At), Value: value, Error: rpcerror.ToProto(d.Error),
	}, nil
}

// OmittedDeferred makes a message of a settled deferred that leaves its value out.
func OmittedDeferred(s *journal.Settlement) *crusterv1.SettledDeferred {
	return &crusterv1.SettledDeferred{
		Name: rpcerror.Text(s.Name), SettleTime: unixTimestamp(s.At), OmittedBytes: uint64(s.Bytes),
	}
}

// PendingOp makes a message of an op that an execution waits for. Its error is cut to a size that leaves room for the
// others.
func PendingOp(op *host.PendingOp) *crusterv1.PendingOp {
	p := &crusterv1.PendingOp{
		Number:    op.Number,
		Kind:      rpcerror.Text(op.Kind),
		Name:      rpcerror.Text(op.Name),
		Key:       rpcerror.Text(op.Key),
		IssueTime: timestamp(op.Since),
		DueTime:   timestamp(op.DueAt),
		Attempt:   op.Attempt,
		LastError: rpcerror.Clipped(op.LastError),
	}
	if op.Callee != "" {
		p.Callee, p.CalleeState = rpcerror.Text(op.Callee), states[op.State]
	}
	return p
}

// Entry makes a message of an entry of a journal.
func Entry(e *journal.Entry, as crusterv1.Encoding) (*crusterv1.HistoryEntry, error) {
	value, err := EncodePayload(e.Value, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.HistoryEntry{
		Seq:         e.Seq,
		Turn:        e.Turn,
		Kind:        string(e.Kind),
		JournalTime: unixTimestamp(e.At),
		Op:          e.Op.Number,
		OpKind:      rpcerror.Text(e.Op.Kind),
		Name:        rpcerror.Text(e.Op.Name),
		Key:         rpcerror.Text(e.Op.Key),
		Attempts:    e.Attempts,
		NextTime:    unixTimestamp(e.NextAt),
		Value:       value,
		Error:       rpcerror.ToProto(e.Error),
	}, nil
}

// unixTimestamp makes a timestamp of Unix nanoseconds; nil for zero and for never.
func unixTimestamp(ns int64) *timestamppb.Timestamp {
	if ns == 0 || ns == journal.Never {
		return nil
	}
	return timestamppb.New(time.Unix(0, ns))
}

// timestamp makes a timestamp of a time; nil for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// LogLine makes a message of a guest's log line.
func LogLine(l *follow.Line) *crusterv1.LogLine {
	return &crusterv1.LogLine{
		LogTime: unixTimestamp(l.At), Level: l.Level, Message: rpcerror.Text(l.Message), Crashed: l.Crashed,
		Activity: rpcerror.Text(l.Activity), Attempt: l.Attempt, Dropped: uint32(l.Dropped),
	}
}
