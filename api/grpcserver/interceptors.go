package grpcserver

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

// RequestIDHeader carries the id of a call, which the host's log shows. A caller may choose the id; the header of the
// answer has it in any case.
const RequestIDHeader = "x-request-id"

const maxRequestID = 128

// interceptors stand around every call: they name it, bound it, catch its panics, make a status of its error, and
// record how it went.
type interceptors struct {
	clock    clockwork.Clock
	lifetime *lifetime
	log      *slog.Logger
	metrics  *metrics
}

func (in *interceptors) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (resp any, err error) {
	arrival := arrivalOf(ctx)
	done, err := arrival.handle()
	if err != nil {
		return nil, err
	}
	defer done()
	id := requestID(ctx)
	// Failing to send a header means that the caller is gone, which shows soon enough.
	_ = grpc.SetHeader(ctx, metadata.Pairs(RequestIDHeader, id))
	err = in.call(ctx, info.FullMethod, id, func() (err error) {
		if err := checkSize(req); err != nil {
			return err
		}
		if resp, err = handler(ctx, req); err != nil {
			return err
		}
		return arrival.answered(ctx, resp)
	})
	if err != nil {
		arrival.failed()
		return nil, err
	}
	return resp, nil
}

// call stands around one call, of its own or of a stream.
func (in *interceptors) call(ctx context.Context, method, id string, handle func() error) (err error) {
	begin := in.clock.Now()
	defer func() { in.record(ctx, method, id, begin, err) }()
	return in.guard(ctx, handle)
}

func (in *interceptors) stream(
	srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) (err error) {
	ctx := ss.Context()
	done, err := arrivalOf(ctx).handle()
	if err != nil {
		return err
	}
	defer done()
	id := requestID(ctx)
	_ = ss.SetHeader(metadata.Pairs(RequestIDHeader, id))
	return in.call(ctx, info.FullMethod, id, func() error { return handler(srv, namedStream{ss, id}) })
}

// namedStream is a stream whose handler asks for its id.
type namedStream struct {
	grpc.ServerStream
	id string
}

type requestIDKey struct{}

func (s namedStream) Context() context.Context {
	return context.WithValue(s.ServerStream.Context(), requestIDKey{}, s.id)
}

// guard runs a handler: a panic costs the call and nothing else, and an error becomes a status.
func (in *interceptors) guard(ctx context.Context, handle func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			in.metrics.panics.Inc()
			in.log.ErrorContext(ctx, "a call panicked", "panic", p, "stack", string(debug.Stack()))
			err = rpcerror.Status(abi.Errorf(abi.CodeInternal, "the host panicked while it handled the call"), 0).Err()
		}
	}()
	return statusOf(ctx, handle(), in.lifetime.over())
}

// checkSize bounds every request but an upload: the transport's own limit has to let modules through.
func checkSize(req any) error {
	if m, ok := req.(proto.Message); ok && proto.Size(m) > maxRequest {
		return abi.Errorf(
			abi.CodePayloadTooLarge, "a request of %d bytes is over the limit of %d", proto.Size(m), maxRequest,
		)
	}
	return nil
}

// record counts an answered call, and logs it at a level that fits its status.
func (in *interceptors) record(ctx context.Context, method, id string, begin time.Time, err error) {
	code, took := status.Code(err), in.clock.Since(begin)
	in.metrics.observe(method, code, took)
	level := slog.LevelDebug
	switch code {
	case codes.Internal, codes.Unknown, codes.DataLoss:
		level = slog.LevelError
	case codes.ResourceExhausted, codes.Unavailable:
		level = slog.LevelInfo // the metrics tell how many; a full host has no time to complain
	}
	if !in.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", method), slog.String("code", code.String()), slog.Duration("took", took),
		slog.String("request_id", id),
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", rpcerror.From(err)))
	}
	in.log.LogAttrs(ctx, level, "call", attrs...)
}

// requestID takes the id that the call has already, or the caller's if a log can hold it.
func requestID(ctx context.Context) string {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		return id
	}
	for _, id := range metadata.ValueFromIncomingContext(ctx, RequestIDHeader) {
		if id != "" && len(id) <= maxRequestID &&
			!strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return id
		}
	}
	return uuid.NewString()
}

// statusOf makes a status of a handler's error. A wait cut short by the end of the host comes
// first. Then comes the caller's context: if the caller gave up or its deadline passed, the status
// says so, whatever the handler returned; if that is a deadline too, in the handler's words.
func statusOf(ctx context.Context, err error, shuttingDown bool) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	coded := abi.AsError(err)
	switch {
	case shuttingDown && isWaitCutShort(err, coded):
		coded = abi.Errorf(abi.CodeShuttingDown, "the host is shutting down; the execution goes on once it is back")
	case errors.Is(ctx.Err(), context.Canceled):
		return status.FromContextError(context.Canceled).Err()
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && coded.Code != abi.CodeDeadline:
		return rpcerror.Status(abi.Errorf(abi.CodeDeadline, "the deadline passed before the answer was there"), 0).Err()
	}
	st := rpcerror.Status(coded, host.RetryDelay(err))
	var misfit *host.Misfit
	if errors.As(err, &misfit) && misfit.Diff != nil {
		st = rpcerror.WithDiff(st, convert.Diff(misfit.Diff))
	}
	return st.Err()
}

// isWaitCutShort tells a wait that the shutdown of the server ended from other failures at that time.
func isWaitCutShort(err error, coded *abi.Error) bool {
	return errors.Is(err, context.Canceled) || coded.Code == abi.CodeDeadline
}
