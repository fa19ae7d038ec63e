package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
)

const (
	defaultMaxModuleSize = 32 << 20
	// envelope is what a message may hold beside its payload: names, keys,
	// configuration values.
	envelope = 1 << 20
	// maxRequest bounds every request but an upload.
	maxRequest = payload.MaxJSON + envelope
	// keepaliveMin is how often a client may ask whether the host still lives;
	// those that wait for long executions do.
	keepaliveMin = 5 * time.Second
	// keepaliveIdle is after how much silence the host asks a client in turn, so
	// that those who vanished do not wait for ever.
	keepaliveIdle    = time.Minute
	keepaliveTimeout = 20 * time.Second
	// handshakeTimeout is how long a new connection may take to say what it wants.
	handshakeTimeout = 10 * time.Second
	// maxHeaders bounds the metadata of a call, and maxCalls the calls that one
	// connection has open at a time: those beyond it wait at the client.
	maxHeaders = 64 << 10
	maxCalls   = 10_000
)

// Config is everything a [Server] can be told. Only Engine is required.
type Config struct {
	// Engine does the work.
	Engine Engine
	// Gatherer yields the metrics for /metrics. Defaults to the default
	// gatherer of Prometheus.
	Gatherer prometheus.Gatherer
	// Logger receives one record a call. Defaults to slog.Default.
	Logger *slog.Logger
	// MaxModuleSize bounds an upload, in bytes. Defaults to 32 MiB.
	MaxModuleSize int64
	// Registerer takes the metrics of the services. Defaults to none.
	Registerer prometheus.Registerer
}

// Server serves the gRPC API. Make one with [New], start it with
// [Server.Serve], stop it with [Server.Shutdown].
type Server struct {
	cfg  Config
	log  *slog.Logger
	grpc *grpc.Server
	http http.Handler

	// closing ends when the server is to stop; calls that wait for executions
	// end with it, for a shutdown must not last as long as a workflow.
	closing context.Context
	close   context.CancelFunc
}

// New makes a server.
func New(cfg Config) (*Server, error) {
	if cfg.Engine == nil {
		return nil, abi.Errorf(abi.CodeBadConfig, "api: Config.Engine is not set")
	}
	if cfg.MaxModuleSize < 0 {
		return nil, abi.Errorf(abi.CodeBadConfig, "the largest size of a module is negative: %d", cfg.MaxModuleSize)
	}
	if cfg.MaxModuleSize == 0 {
		cfg.MaxModuleSize = defaultMaxModuleSize
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Gatherer == nil {
		cfg.Gatherer = prometheus.DefaultGatherer
	}
	s := &Server{cfg: cfg, log: cfg.Logger}
	s.closing, s.close = context.WithCancel(context.Background())
	s.http = s.newHTTP()
	in := &interceptors{server: s, metrics: newMetrics(cfg.Registerer)}
	s.grpc = grpc.NewServer(
		grpc.ChainUnaryInterceptor(in.unary),
		grpc.ChainStreamInterceptor(in.stream),
		grpc.MaxRecvMsgSize(int(max(cfg.MaxModuleSize+envelope, maxRequest))),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveIdle, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMin, PermitWithoutStream: true}),
	)
	crusterv1.RegisterModuleServiceServer(s.grpc, &moduleService{server: s, slots: make(chan struct{}, maxUploads), stall: stallTimeout})
	crusterv1.RegisterWorkflowServiceServer(s.grpc, &workflowService{server: s})
	crusterv1.RegisterDeferredServiceServer(s.grpc, &deferredService{server: s})
	grpc_health_v1.RegisterHealthServer(s.grpc, &healthService{server: s})
	reflection.Register(s.grpc)
	return s, nil
}

// Serve answers gRPC calls on the listener until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Handler answers /healthz, /readyz and /metrics.
func (s *Server) Handler() http.Handler { return s.http }

// Shutdown ends the waiting calls, lets the others finish until ctx is done, and
// stops. It is idempotent.
func (s *Server) Shutdown(ctx context.Context) {
	s.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop() // makes GracefulStop return
		<-done
	}
}

// untilClosing derives a context that also ends when the server is to stop.
func (s *Server) untilClosing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// ready is Engine.Ready, with the shutdown of the server taken into account.
func (s *Server) ready(ctx context.Context) error {
	if s.closing.Err() != nil {
		return abi.Errorf(abi.CodeShuttingDown, "the host is shutting down")
	}
	return s.cfg.Engine.Ready(ctx)
}
