package convert

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/journal"
)

// PublishedState makes messages of the values that an execution has published: of all, or of the
// named one.
func PublishedState(
	p *journal.Published, name string, as crusterv1.Encoding,
) (state []*crusterv1.PublishedState, err error) {
	for _, s := range p.State {
		if name != "" && s.Name != name {
			continue
		}
		value, err := EncodePayload(s.Value, as)
		if err != nil {
			return nil, err
		}
		state = append(state, &crusterv1.PublishedState{Name: rpcerror.Text(s.Name), Value: value})
	}
	return state, nil
}

// Attributes makes messages of the attributes that searches find an execution by.
func Attributes(p *journal.Published) (attributes []*crusterv1.Attribute) {
	for _, a := range p.Attributes {
		m := &crusterv1.Attribute{Name: rpcerror.Text(a.Name)}
		switch a.Type {
		case abi.AttributeText:
			m.Value = &crusterv1.Attribute_Text{Text: rpcerror.Text(a.Text)}
		case abi.AttributeBool:
			m.Value = &crusterv1.Attribute_Boolean{Boolean: a.Number != 0}
		case abi.AttributeTime:
			m.Value = &crusterv1.Attribute_Time{Time: timestamppb.New(time.UnixMicro(int64(a.Number)))}
		default:
			m.Value = &crusterv1.Attribute_Number{Number: a.Number}
		}
		attributes = append(attributes, m)
	}
	return attributes
}

// Progress makes a message of how far an execution is; nil if it does not say.
func Progress(p *journal.Published) *crusterv1.Progress {
	if p.Progress == nil {
		return nil
	}
	return &crusterv1.Progress{Done: p.Progress.Done, Total: p.Progress.Total, Note: rpcerror.Text(p.Progress.Note)}
}

// PublishedAt is when an execution last changed its published values.
func PublishedAt(p *journal.Published) *timestamppb.Timestamp { return unixTimestamp(p.At) }

// Conditions reads conditions. A value as people write it is of the type that typeOf knows for the
// attribute; if that is empty, its form decides the type.
func Conditions(
	where []*crusterv1.Condition, typeOf func(attribute string) (string, error),
) ([]journal.Condition, error) {
	var conditions []journal.Condition
	for _, c := range where {
		condition := journal.Condition{Name: c.GetName(), Operator: c.GetOperator()}
		switch v := c.GetValue().(type) {
		case *crusterv1.Condition_Text:
			condition.Value = abi.Attribute{Type: abi.AttributeText, Text: v.Text}
		case *crusterv1.Condition_Number:
			condition.Value = abi.Attribute{Type: abi.AttributeNumber, Number: v.Number}
		case *crusterv1.Condition_Boolean:
			condition.Value = abi.Attribute{Type: abi.AttributeBool, Number: numberOf(v.Boolean)}
		case *crusterv1.Condition_Time:
			condition.Value = abi.Attribute{Type: abi.AttributeTime, Number: float64(v.Time.AsTime().UnixMicro())}
		case *crusterv1.Condition_Literal:
			kind, err := typeOf(c.GetName())
			if err != nil {
				return nil, err
			}
			if condition.Value, err = Literal(v.Literal, kind); err != nil {
				return nil, err
			}
		default:
			return nil, abi.Errorf(abi.CodeBadRequest, "the condition about %.100q has no value", c.GetName())
		}
		conditions = append(conditions, condition)
	}
	return conditions, nil
}

// Literal reads a value as people write it: of a given type, or of the type its form suggests.
func Literal(text, kind string) (abi.Attribute, error) {
	quoted := len(text) > 1 && strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`)
	if quoted && (kind == "" || kind == abi.AttributeText) {
		return abi.Attribute{Type: abi.AttributeText, Text: text[1 : len(text)-1]}, nil
	}
	number, nerr := strconv.ParseFloat(text, 64)
	at, terr := time.Parse(time.RFC3339Nano, text)
	is := func(t string, looks bool) bool { return kind == t || kind == "" && looks }
	switch {
	case is(abi.AttributeBool, text == "true" || text == "false") && (text == "true" || text == "false"):
		return abi.Attribute{Type: abi.AttributeBool, Number: numberOf(text == "true")}, nil
	case is(abi.AttributeNumber, nerr == nil) && nerr == nil:
		return abi.Attribute{Type: abi.AttributeNumber, Number: number}, nil
	case is(abi.AttributeTime, terr == nil) && terr == nil:
		return abi.Attribute{Type: abi.AttributeTime, Number: float64(at.UnixMicro())}, nil
	case is(abi.AttributeText, true):
		return abi.Attribute{Type: abi.AttributeText, Text: text}, nil
	}
	return abi.Attribute{}, abi.Errorf(abi.CodeBadRequest, "%.100q is not a %s", text, kind).
		WithHint("Times are written as in 2026-01-31T12:00:00Z, bools as true and false.")
}

func numberOf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
