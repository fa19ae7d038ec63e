package rpcerror

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// Domain is the domain of every google.rpc.ErrorInfo.
const Domain = "cruster.dev"

// A status travels in the trailer, whose size peers and proxies bound. The text of a failure may come from a module: it
// must not break the answer that reports it.
const (
	maxText    = 4 << 10
	maxDetails = 2 << 10
)

var codesByCategory = map[abi.Category]codes.Code{
	abi.Internal:           codes.Internal,
	abi.InvalidArgument:    codes.InvalidArgument,
	abi.NotFound:           codes.NotFound,
	abi.AlreadyExists:      codes.AlreadyExists,
	abi.FailedPrecondition: codes.FailedPrecondition,
	abi.ResourceExhausted:  codes.ResourceExhausted,
	abi.Unavailable:        codes.Unavailable,
	abi.DeadlineExceeded:   codes.DeadlineExceeded,
	abi.PermissionDenied:   codes.PermissionDenied,
	abi.Aborted:            codes.Aborted,
}

// Status makes a status of an error. A retryAfter above zero is when the caller should try again.
func Status(e *abi.Error, retryAfter time.Duration) *status.Status {
	wire := Clipped(e)
	st := status.New(codesByCategory[e.Code.Info().Category], wire.Message)
	info := &errdetails.ErrorInfo{Reason: wire.Code, Domain: Domain, Metadata: map[string]string{"hint": wire.Hint}}
	var err error
	if retryAfter > 0 {
		st, err = st.WithDetails(info, wire, &errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)})
	} else {
		st, err = st.WithDetails(info, wire)
	}
	if err != nil { // WithDetails refuses only the code OK, which no category has
		return status.New(codes.Internal, err.Error())
	}
	return st
}

// From makes an *abi.Error of the error of a gRPC call, or a *Misfit that wraps one; nil stays nil.
// A call that its caller gave up becomes context.Canceled.
func From(err error) error {
	if err == nil {
		return nil
	}
	var misfit *Misfit
	if errors.As(err, &misfit) {
		return misfit
	}
	var coded *abi.Error
	if errors.As(err, &coded) {
		return coded
	}
	st, ok := status.FromError(err)
	if !ok {
		return fromContext(err)
	}
	if err := fromDetails(st); err != nil {
		return err
	}
	switch st.Code() {
	case codes.Canceled:
		return context.Canceled
	case codes.DeadlineExceeded:
		return abi.Errorf(abi.CodeDeadline, "the deadline passed before the host answered")
	case codes.Unavailable:
		return abi.Errorf(abi.CodeUnreachable, "no host answers: %s", unwrapDial(st.Message()))
	case codes.ResourceExhausted: // gRPC's own: a message over the limit of either side
		switch {
		case isRefused(st):
			return abi.Errorf(abi.CodeOverloaded, "the host has no memory left for the message")
		case hasLength(st, TooLargeLength):
			return abi.Errorf(abi.CodePayloadTooLarge, "the request is larger than requests of this method may be")
		}
		return abi.Errorf(abi.CodePayloadTooLarge, "%s", st.Message())
	case codes.InvalidArgument:
		return abi.Errorf(abi.CodeBadRequest, "%s", st.Message())
	default:
		return abi.Errorf(abi.CodeInternal, "%s: %s", st.Code(), st.Message())
	}
}

// RefusedLength is the length that a host gives a message which it has no memory for, and TooLargeLength the one of a
// message that is too large for its method: the transport refuses it then, in words of its own.
const (
	RefusedLength  = math.MaxUint32
	TooLargeLength = math.MaxUint32 - 1
)

// refusedFor is the delay before resending a message refused for lack of memory.
const refusedFor = 250 * time.Millisecond

// isRefused tells a message refused for lack of memory from an oversized one.
func isRefused(st *status.Status) bool { return hasLength(st, RefusedLength) }

// hasLength tells whether a message was refused because of a length that the host has given it.
func hasLength(st *status.Status, length uint64) bool {
	return st.Code() == codes.ResourceExhausted && strings.Contains(st.Message(), strconv.FormatUint(length, 10))
}

// fromDetails makes an error of the details that Status and WithDiff gave a status; nil if it has none.
func fromDetails(st *status.Status) error {
	var cause *abi.Error
	var diff *crusterv1.Diff
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *crusterv1.Error:
			cause = FromProto(d)
		case *crusterv1.Diff:
			diff = d
		}
	}
	switch {
	case cause == nil:
		return nil
	case diff != nil:
		return &Misfit{Cause: cause, Diff: diff}
	default:
		return cause
	}
}

// unwrapDial takes the cause out of gRPC's report of a failed connection.
func unwrapDial(message string) string {
	if _, cause, ok := strings.Cut(message, "Error while dialing: "); ok {
		return strings.TrimSuffix(cause, `"`)
	}
	return message
}

func fromContext(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return abi.Errorf(abi.CodeDeadline, "the deadline passed before the host answered")
	default:
		return abi.AsError(err)
	}
}

// RetryDelay returns when the host asks the caller to try again; false if it does not.
func RetryDelay(err error) (time.Duration, bool) {
	st, ok := status.FromError(err)
	if !ok {
		return 0, false
	}
	if isRefused(st) {
		return refusedFor, true
	}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}
