package rpc

import (
	"regexp"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

var namespaceName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// namespaceOf fills in the default tenant and refuses what is no name of one.
func namespaceOf(namespace string) (string, error) {
	if namespace == "" {
		return host.DefaultNamespace, nil
	}
	if !namespaceName.MatchString(namespace) {
		return "", abi.Errorf(abi.CodeBadRequest, "%.80q is no name of a namespace", namespace).
			WithHint("Namespaces are lower-case letters, digits and '-', start with a letter and have at most 63 characters.")
	}
	return namespace, nil
}

// target checks the two fields that name an execution.
func target(namespace, execution string) (ns string, err error) {
	if ns, err = namespaceOf(namespace); err != nil {
		return "", err
	}
	if _, _, ok := journal.ParseName(execution); !ok {
		return "", abi.Errorf(abi.CodeBadRequest, "%.80q is no name of an execution", execution).
			WithHint("Executions are named DEPLOYMENT/WORKFLOW/KEY; 'cruster-host workflow list' shows them.")
	}
	return ns, nil
}

// timestamp of Unix nanoseconds; none for zero and for never.
func timestamp(ns int64) *timestamppb.Timestamp {
	if ns == 0 || ns == journal.Never {
		return nil
	}
	return timestamppb.New(time.Unix(0, ns))
}

func timestampOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// decode takes a payload as well-formed msgpack; an absent one is nil. The schema
// directs the conversion of JSON.
func decode(p *crusterv1.Payload, s *abi.Schema) ([]byte, error) {
	switch d := p.GetData().(type) {
	case *crusterv1.Payload_Json:
		return payload.FromJSON([]byte(d.Json), s)
	case *crusterv1.Payload_Msgpack:
		if len(d.Msgpack) > abi.MaxBody {
			return nil, abi.Errorf(abi.CodePayloadTooLarge, "a payload of %d bytes is over the limit of %d", len(d.Msgpack), abi.MaxBody)
		}
		if _, err := abi.Canonical(d.Msgpack); err != nil {
			return nil, abi.Errorf(abi.CodeBadInput, "the payload is malformed: %v", err)
		}
		return d.Msgpack, nil
	default:
		return abi.Nil, nil
	}
}

// encodingFor settles which form an answer takes.
func encodingFor(wanted crusterv1.Encoding, asked *crusterv1.Payload) (crusterv1.Encoding, error) {
	switch wanted {
	case crusterv1.Encoding_ENCODING_MSGPACK, crusterv1.Encoding_ENCODING_JSON:
		return wanted, nil
	case crusterv1.Encoding_ENCODING_UNSPECIFIED:
		if _, ok := asked.GetData().(*crusterv1.Payload_Msgpack); ok {
			return crusterv1.Encoding_ENCODING_MSGPACK, nil
		}
		return crusterv1.Encoding_ENCODING_JSON, nil
	default:
		return 0, abi.Errorf(abi.CodeBadRequest, "there is no encoding %d", wanted)
	}
}

// encode makes a payload of msgpack; none of none.
func encode(data []byte, as crusterv1.Encoding) (*crusterv1.Payload, error) {
	if data == nil {
		return nil, nil
	}
	if as == crusterv1.Encoding_ENCODING_MSGPACK {
		return &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: data}}, nil
	}
	text, err := payload.ToJSON(data)
	if err != nil {
		return nil, err
	}
	return &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: string(text)}}, nil
}

var states = map[journal.State]crusterv1.State{
	journal.Running:     crusterv1.State_STATE_RUNNING,
	journal.Paused:      crusterv1.State_STATE_PAUSED,
	journal.Completed:   crusterv1.State_STATE_COMPLETED,
	journal.Failed:      crusterv1.State_STATE_FAILED,
	journal.Interrupted: crusterv1.State_STATE_INTERRUPTED,
}

func stateFromProto(s crusterv1.State) (journal.State, error) {
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

func executionToProto(e *journal.Execution, as crusterv1.Encoding) (*crusterv1.Execution, error) {
	result, err := encode(e.Value, as)
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
		CreatedAt:  timestamp(e.CreatedAt),
		FinishedAt: timestamp(e.FinishedAt),
	}
	if e.Interrupt != nil {
		p.Interruption = &crusterv1.Interruption{At: timestamp(e.Interrupt.At), Reason: rpcerror.Text(e.Interrupt.Reason)}
	}
	if !e.Parent.IsZero() {
		p.ParentId = e.Parent.String()
	}
	return p, nil
}

func entryToProto(e *journal.Entry, as crusterv1.Encoding) (*crusterv1.HistoryEntry, error) {
	value, err := encode(e.Value, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.HistoryEntry{
		Seq:      e.Seq,
		Turn:     e.Turn,
		Kind:     string(e.Kind),
		At:       timestamp(e.At),
		Op:       e.Op.Number,
		OpKind:   rpcerror.Text(e.Op.Kind),
		Name:     rpcerror.Text(e.Op.Name),
		Key:      rpcerror.Text(e.Op.Key),
		Attempts: e.Attempts,
		NextAt:   timestamp(e.NextAt),
		Value:    value,
		Error:    rpcerror.ToProto(e.Error),
	}, nil
}
