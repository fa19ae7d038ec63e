package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/rpc"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

const (
	// lostInterval is how often the host asks itself whether a write was fenced,
	// ownerInterval how often it asks the store who owns it: a host without work
	// writes nothing, yet it answers calls that wait for what others do now.
	lostInterval  = 500 * time.Millisecond
	ownerInterval = 5 * time.Second
	// hangUpTimeout is how long calls may take to end when the host stops; the
	// drain timeout of the engine comes on top.
	hangUpTimeout = 5 * time.Second
)

func (a *app) devCommand() *cobra.Command {
	var s settings
	var data string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a host on this machine with its store in a folder",
		Long: `Run a host on this machine with its store in a folder. Everything survives a crash
or kill -9; stop it with Ctrl-C, a second Ctrl-C ends it at once. What workflows
and activities log is written to standard error.`,
		Example: `  cruster-host dev
  cruster-host dev --data-dir /tmp/try --grpc-addr 127.0.0.1:0 --http-addr 127.0.0.1:0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.store = "sqlite:" + data
			return a.serve(cmd.Context(), &s)
		},
	}
	s.add(cmd.Flags())
	cmd.Flags().StringVar(&data, "data-dir", "cruster-data", "folder of the store")
	fromEnvironment(cmd.Flags(), "data-dir")
	return cmd
}

func (a *app) serveCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a host",
		Long: `Run a host. SIGTERM or SIGINT stops it: it takes no new work, lets running
activities finish within the drain timeout, and exits; whatever is unfinished goes
on when a host starts on the same store. A second signal ends it at once, which is
safe too.

A store has one host at a time. On Postgres the last one to start takes over and the
former exits; an embedded store that is in use is refused.`,
		Example: `  cruster-host serve --store postgres://cruster@db.internal/cruster --grpc-addr :7600 --http-addr :8600
  CRUSTER_STORE=sqlite:/var/lib/cruster cruster-host serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &s) },
	}
	s.add(cmd.Flags())
	addStoreFlags(cmd, &s)
	return cmd
}

func addStoreFlags(cmd *cobra.Command, s *settings) {
	cmd.Flags().StringVar(&s.schema, "schema", "cruster", "schema of Cruster's own tables in Postgres")
	cmd.Flags().StringVar(&s.store, "store", "", storeUsage)
	fromEnvironment(cmd.Flags(), "schema", "store")
}

// serve runs a host until ctx is done.
func (a *app) serve(ctx context.Context, s *settings) error {
	spec, err := parseStore(s.store, s.schema)
	if err != nil {
		return err
	}
	log, err := s.logger(a.stderr)
	if err != nil {
		return err
	}
	cfg, err := s.engine(log)
	if err != nil {
		return err
	}
	// The addresses come first: a host that cannot be reached must not take over
	// the shards of one that can.
	grpcListener, err := listen("--grpc-addr", s.grpcAddr)
	if err != nil {
		return err
	}
	defer grpcListener.Close() // serving closes it too
	httpListener, err := listen("--http-addr", s.httpAddr)
	if err != nil {
		return err
	}
	defer httpListener.Close() // serving closes it too

	store, err := spec.open(ctx, log)
	if err != nil {
		return err
	}
	h := &running{log: log, store: store, grpc: grpcListener, http: httpListener, lost: make(chan error, 1)}
	if err := h.start(ctx, cfg, int64(s.maxModuleSize)); err != nil {
		return errors.Join(err, store.Close())
	}
	a.firstScreen(s, h)
	err = h.untilDone(ctx)
	return errors.Join(err, h.stop(s.drainTimeout))
}

func listen(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		coded := abi.Errorf(abi.CodeBadConfig, "%s: %v", flag, err)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, coded.WithHint("Is another host running? Choose another address with %s.", flag)
		}
		return nil, coded.WithHint("Addresses are HOST:PORT, as in %s; a host can listen only on addresses of its machine.", defaultAddr)
	}
	return l, nil
}

// running is a host that runs: the engine with its two servers.
type running struct {
	log    *slog.Logger
	store  journal.Store
	engine *host.Engine
	api    *rpc.Server
	web    *http.Server
	grpc   net.Listener
	http   net.Listener
	lost   chan error // what ended a server
}

func (h *running) start(ctx context.Context, cfg host.Config, maxModuleSize int64) (err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	cfg.Store, cfg.Registerer = h.store, registry
	if h.engine, err = host.New(cfg); err != nil {
		return err
	}
	h.api, err = rpc.New(rpc.Config{Engine: h.engine, Gatherer: registry, Logger: h.log, MaxModuleSize: maxModuleSize, Registerer: registry})
	if err != nil {
		return err
	}
	if err := h.engine.Start(ctx); err != nil {
		return err
	}
	// Probes are small and quick; whoever is neither is not one.
	h.web = &http.Server{
		Handler:           h.api.Handler(),
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
	}
	go func() {
		if err := h.api.Serve(h.grpc); err != nil {
			h.fail(fmt.Errorf("serve gRPC: %w", err))
		}
	}()
	go func() {
		if err := h.web.Serve(h.http); !errors.Is(err, http.ErrServerClosed) {
			h.fail(fmt.Errorf("serve HTTP: %w", err))
		}
	}()
	return nil
}

// fail reports what ended a server; the first report counts.
func (h *running) fail(err error) {
	select {
	case h.lost <- err:
	default:
	}
}

// untilDone waits for a signal, for a server that fails, or for another host to
// take over.
func (h *running) untilDone(ctx context.Context) error {
	ticker, owner := time.NewTicker(lostInterval), time.NewTicker(ownerInterval)
	defer ticker.Stop()
	defer owner.Stop()
	for {
		select {
		case <-ctx.Done():
			h.log.Info("stopping")
			return nil
		case err := <-h.lost:
			return err
		case <-ticker.C:
			if err := h.engine.Lost(); err != nil {
				return err
			}
		case <-owner.C:
			if err := h.ready(ctx); abi.CodeOf(err) == abi.CodeFenced {
				return abi.Errorf(abi.CodeFenced, "another host has taken over the store")
			}
		}
	}
}

// ready is Engine.Ready, within the time until it is asked again.
func (h *running) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ownerInterval)
	defer cancel()
	return h.engine.Ready(ctx)
}

// stop ends the calls, then the engine, then the store: each needs the next.
func (h *running) stop(drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), hangUpTimeout)
	defer cancel()
	h.api.Shutdown(ctx)
	drainCtx, cancelDrain := context.WithTimeout(context.Background(), drain+hangUpTimeout)
	defer cancelDrain()
	errs := []error{h.engine.Stop(drainCtx)}
	// Probes are answered to the end: an operator sees that the host drains.
	if err := h.web.Close(); err != nil {
		errs = append(errs, fmt.Errorf("stop HTTP: %w", err))
	}
	if err := h.store.Close(); err != nil {
		errs = append(errs, abi.Errorf(abi.CodeStore, "close the store: %v", err))
	}
	return errors.Join(errs...)
}

// firstScreen tells where everything is, and what to type next.
func (a *app) firstScreen(s *settings, h *running) {
	store := "postgres, schema " + s.schema
	if dir, ok := strings.CutPrefix(s.store, "sqlite:"); ok {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		store = dir
	}
	a.addr = h.grpc.Addr().String()
	// The screen is for people; a host goes on without it.
	_ = a.emit(map[string]string{"version": version(), "grpc": a.addr, "http": h.http.Addr().String(), "store": store}, func() error {
		if err := a.lines(
			line{"Cruster", version()},
			line{"gRPC", a.addr},
			line{"HTTP", "http://" + h.http.Addr().String() + "  (/healthz /readyz /metrics)"},
			line{"Store", store},
		); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "\nNext, in another terminal:\n  cruster-host module push FILE.wasm --name NAME%s\n", a.addrFlag())
		return err
	})
}
