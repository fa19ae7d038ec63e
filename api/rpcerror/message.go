package rpcerror

import (
	"strings"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// ToProto makes a message of an error; nil stays nil.
func ToProto(e *abi.Error) *crusterv1.Error {
	if e == nil {
		return nil
	}
	return &crusterv1.Error{
		Code:      Text(string(e.Code)),
		Message:   Text(e.Message),
		Hint:      Text(e.Hint),
		Type:      Text(e.Type),
		Retryable: e.Retryable,
		Details:   e.Details,
	}
}

// Clipped is ToProto for places with little room: texts are cut, and details that are too large are left out.
func Clipped(e *abi.Error) *crusterv1.Error {
	wire := ToProto(e)
	if wire == nil {
		return nil
	}
	wire.Message, wire.Hint = clip(wire.Message, maxText), clip(wire.Hint, maxText)
	wire.Type = clip(wire.Type, abi.MaxName)
	if len(wire.Details) > maxDetails {
		wire.Details = nil
	}
	return wire
}

// FromProto makes an error of a message; nil stays nil.
func FromProto(e *crusterv1.Error) *abi.Error {
	if e == nil {
		return nil
	}
	return &abi.Error{
		Code:      abi.Code(e.GetCode()),
		Message:   e.GetMessage(),
		Hint:      e.GetHint(),
		Type:      e.GetType(),
		Retryable: e.GetRetryable(),
		Details:   e.GetDetails(),
	}
}

// Text makes a string that came from a module fit for protobuf, which refuses to send invalid
// UTF-8.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
