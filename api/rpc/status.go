package rpc

import (
	"context"
	"errors"

	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

// statusOf makes a status of what a handler returned. The caller's context comes
// first: if the caller gave up or its deadline passed, the status says so, whatever
// the handler returned.
func statusOf(ctx context.Context, err error, shuttingDown bool) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return status.FromContextError(context.Canceled).Err()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return rpcerror.Status(abi.Errorf(abi.CodeDeadline, "the deadline passed before the answer was there"), 0).Err()
	}
	coded := abi.AsError(err)
	if shuttingDown && isWaitCutShort(err, coded) {
		coded = abi.Errorf(abi.CodeShuttingDown, "the host is shutting down; the execution goes on once it is back")
	}
	return rpcerror.Status(coded, host.RetryDelay(err)).Err()
}

// isWaitCutShort tells a wait that the shutdown of the server ended from other
// failures at that time.
func isWaitCutShort(err error, coded *abi.Error) bool {
	return errors.Is(err, context.Canceled) || coded.Code == abi.CodeDeadline
}
