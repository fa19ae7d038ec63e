package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/grpcserver"
	"github.com/cruster/cruster/api/probes"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

const (
	// lostInterval is how often the host asks its engine whether a write was fenced, and
	// ownerInterval how often it asks the store which host owns it: a host without work writes
	// nothing, yet it answers calls that wait for the new owner's results.
	lostInterval  = 500 * time.Millisecond
	ownerInterval = 5 * time.Second
	// hangUpTimeout is how long calls may take to end when the host stops; the drain timeout of the engine comes on
	// top.
	hangUpTimeout = 5 * time.Second
	// endTimeout is how long the host may take behind both, to journal the work it gives up and to
	// close the store. Then it ends as it is.
	endTimeout = 10 * time.Second
)

// A Host is a host that runs: the engine with its two servers. Make one with [Start], then [Host.Wait] and [Host.Stop].
type Host struct {
	clock        clockwork.Clock
	drainTimeout time.Duration
	endTimeout   time.Duration
	engine       *host.Engine
	grpc         net.Listener
	http         net.Listener
	log          *slog.Logger
	lost         chan error // the error that ended a server
	probes       *probes.Server
	rpc          *grpcserver.Server
	servers      sync.WaitGroup // of the goroutines that serve
	store        journal.Store
}

// Start starts a host. When it returns, the host answers calls.
func Start(ctx context.Context, cfg Config) (*Host, error) {
	spec, err := ParseStore(cfg.Store, cfg.Schema)
	if err != nil {
		return nil, err
	}
	h := &Host{
		clock:        clockwork.NewRealClock(),
		drainTimeout: cfg.DrainTimeout,
		endTimeout:   endTimeout,
		log:          cfg.Logger,
		lost:         make(chan error, 1),
	}
	// The addresses come first: a host that cannot be reached must not take over the shards of a
	// reachable host.
	wait := newAddressWait(h.clock)
	if h.grpc, err = wait.listen(ctx, "--grpc-addr", cfg.GRPCAddr); err != nil {
		return nil, err
	}
	if h.http, err = wait.listen(ctx, "--http-addr", cfg.HTTPAddr); err != nil {
		return nil, errors.Join(err, h.grpc.Close())
	}
	if h.store, err = spec.Open(ctx, cfg.Logger); err != nil {
		return nil, errors.Join(err, h.grpc.Close(), h.http.Close())
	}
	if err := h.start(ctx, cfg); err != nil {
		return nil, errors.Join(err, h.store.Close(), h.grpc.Close(), h.http.Close())
	}
	return h, nil
}

// GRPCAddr is where the host listens for gRPC.
func (h *Host) GRPCAddr() string { return h.grpc.Addr().String() }

// HTTPAddr is where the host listens for probes and metrics.
func (h *Host) HTTPAddr() string { return h.http.Addr().String() }

// Deployments returns the names of the deployments in a namespace; none if they cannot be read.
func (h *Host) Deployments(ctx context.Context, namespace string) (names []string) {
	all, _ := h.store.Deployments(ctx, namespace) // the store's failures show where it is needed
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

func (h *Host) start(ctx context.Context, cfg Config) (err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	engine := cfg.engine()
	engine.Clock, engine.Store, engine.Registerer = h.clock, h.store, registry
	if h.engine, err = host.New(engine); err != nil {
		return err
	}
	h.rpc, err = grpcserver.New(grpcserver.Config{
		Clock:          h.clock,
		Engine:         grpcserver.EngineOf(h.engine),
		Logger:         h.log,
		MaxConnections: cfg.MaxConnections,
		MaxModuleSize:  cfg.MaxModuleSize,
		Registerer:     registry,
		RequestMemory:  h.engine.Memory(),
	})
	if err != nil {
		return err
	}
	if h.probes, err = probes.New(probes.Config{
		Gatherer: registry, Profiling: cfg.Profiling, Ready: h.rpc.Ready,
	}); err != nil {
		return err
	}
	if err := h.engine.Start(ctx); err != nil {
		return err
	}
	h.servers.Go(func() {
		if err := h.rpc.Serve(h.grpc); err != nil {
			h.fail(fmt.Errorf("serve gRPC: %w", err))
		}
	})
	h.servers.Go(func() {
		if err := h.probes.Serve(h.http); err != nil {
			h.fail(fmt.Errorf("serve HTTP: %w", err))
		}
	})
	return nil
}

// fail reports the error that ended a server; the first report counts.
func (h *Host) fail(err error) {
	select {
	case h.lost <- err:
	default:
	}
}

// Wait waits until ctx is done, and returns nil then. It returns an error when a server fails, when another host has
// taken over the store, or when the store is gone.
func (h *Host) Wait(ctx context.Context) error {
	ticker, owner := h.clock.NewTicker(lostInterval), h.clock.NewTicker(ownerInterval)
	defer ticker.Stop()
	defer owner.Stop()
	for {
		select {
		case <-ctx.Done():
			h.log.Info("stopping")
			return nil
		case err := <-h.lost:
			return err
		case <-ticker.Chan():
			if err := h.engine.Lost(); err != nil {
				return err
			}
		case <-owner.Chan():
			switch err := h.ready(ctx); abi.CodeOf(err) {
			case abi.CodeFenced:
				return abi.Errorf(abi.CodeFenced, "another host has taken over the store")
			case abi.CodeStoreGone:
				return err
			}
		}
	}
}

// ready is Engine.Ready, within the time until it is asked again.
func (h *Host) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ownerInterval)
	defer cancel()
	return h.engine.Ready(ctx)
}

// Stop ends the calls, then the engine, then the store: each needs the next. It returns within the
// drain timeout and fifteen seconds, whatever hangs: acknowledged work is durable, so that the
// process can end at any moment.
func (h *Host) Stop() error {
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	limit := h.clock.NewTimer(hangUpTimeout + h.drainTimeout + h.endTimeout)
	defer limit.Stop()
	select {
	case err := <-stopped:
		return err
	case <-limit.Chan():
		return abi.Errorf(
			abi.CodeShuttingDown, "the host did not come to its end within the drain timeout, and ends as it is",
		).
			WithHint("Nothing that was acknowledged is lost: executions go on when a host starts on the same store.")
	}
}

func (h *Host) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), hangUpTimeout)
	defer cancel()
	h.rpc.Shutdown(ctx)
	drainCtx, cancelDrain := context.WithTimeout(context.Background(), h.drainTimeout+hangUpTimeout)
	defer cancelDrain()
	errs := []error{h.engine.Stop(drainCtx)}
	// Probes are answered to the end: an operator sees that the host drains.
	if err := h.probes.Close(); err != nil {
		errs = append(errs, fmt.Errorf("stop HTTP: %w", err))
	}
	h.servers.Wait()
	if err := h.store.Close(); err != nil {
		errs = append(errs, abi.Errorf(abi.CodeStore, "close the store: %v", err))
	}
	return errors.Join(errs...)
}
