package grpcserver

import (
	"context"

	"github.com/cruster/cruster/host"
)

// Engine is the part of an engine that the server needs: the union of its services' needs. Errors
// that callers are to understand are *abi.Error; contexts end the waiting, never the work.
type Engine interface {
	deploymentEngine
	entityEngine
	executionEngine
	scheduleEngine
	settlementEngine
	// Ready returns why the engine makes no progress, or nil if it does.
	Ready(ctx context.Context) error
}

var _ Engine = (*host.Engine)(nil)
