package grpcserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/jonboulle/clockwork"
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
	defaultMaxConnections = 10_000
	defaultMaxModuleSize  = 32 << 20
	// envelope bounds the parts of a message beside its payload: names, keys, configuration values.
	envelope = 1 << 20
	// maxRequest bounds every request but an upload.
	maxRequest = payload.MaxJSON + envelope
	// keepaliveMin is how often a client may ping the host; clients that wait for long executions do.
	keepaliveMin = 5 * time.Second
	// keepaliveIdle is after how much silence the host pings a client, so that the calls of clients that vanished end.
	keepaliveIdle = time.Minute
	// connectionIdle is after how much time without a call a connection is closed. Its client makes
	// another with its next call, and others have its place and its memory meanwhile.
	connectionIdle   = 15 * time.Minute
	keepaliveTimeout = 20 * time.Second
	// window bounds the unread bytes of a caller, over all its calls. That it is set has a second
	// effect: the transport does not measure the path with pings of its own, one for nearly every
	// call, to find a better size.
	window = 1 << 20
	// callWindow is the window of one call, before the host reads from it. A message that is being
	// read gets as much as it needs.
	callWindow = 64 << 10
	// handshakeTimeout is how long a new connection may take for its handshake.
	handshakeTimeout = 10 * time.Second
	// maxHeaders bounds the metadata of a call, and maxCalls the calls that one connection has open
	// at a time: further calls wait at the client.
	maxHeaders = 64 << 10
	maxCalls   = 10_000
)

// Config configures a [Server]. Only Engine is required.
type Config struct {
	// Clock is the time of health checks, stalled uploads and measurements. Defaults to the real one.
	Clock clockwork.Clock
	// Engine does the work.
	Engine *Engine
	// Logger receives one record a call. Defaults to slog.Default.
	Logger *slog.Logger
	// MaxConnections bounds the connections that are open; further ones are closed at once. Defaults to 10,000.
	MaxConnections int
	// MaxModuleSize bounds an upload, in bytes. Defaults to 32 MiB.
	MaxModuleSize int64
	// Registerer takes the metrics of the services. Defaults to none.
	Registerer prometheus.Registerer
	// RequestMemory is the memory budget of calls and their messages. Nil means that they are not
	// counted.
	RequestMemory RequestMemory
}

// Server serves the gRPC API. Make one with [New], start it with [Server.Serve], stop it with [Server.Shutdown].
type Server struct {
	engine   *Engine
	grpc     *grpc.Server
	lifetime *lifetime
	arrivals *arrivals
}

// New makes a server.
func New(cfg Config) (*Server, error) {
	if cfg.Engine == nil || cfg.Engine.Ready == nil {
		return nil, abi.Errorf(abi.CodeBadConfig, "rpc: Config.Engine is not set")
	}
	if cfg.MaxModuleSize < 0 {
		return nil, abi.Errorf(abi.CodeBadConfig, "the largest size of a module is negative: %d", cfg.MaxModuleSize)
	}
	if cfg.MaxConnections < 0 {
		return nil, abi.Errorf(abi.CodeBadConfig, "the number of connections is negative: %d", cfg.MaxConnections)
	}
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = defaultMaxConnections
	}
	if cfg.MaxModuleSize == 0 {
		cfg.MaxModuleSize = defaultMaxModuleSize
	}
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{engine: cfg.Engine, lifetime: newLifetime()}
	s.arrivals = newArrivals(cfg.MaxModuleSize+envelope, cfg.RequestMemory, newConnections(&cfg))
	in := &interceptors{clock: cfg.Clock, lifetime: s.lifetime, log: cfg.Logger, metrics: newMetrics(cfg.Registerer)}
	s.grpc = grpc.NewServer(
		grpc.ChainUnaryInterceptor(in.unary),
		grpc.ChainStreamInterceptor(in.stream),
		grpc.MaxRecvMsgSize(int(s.arrivals.max)),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.InTapHandle(s.arrivals.tap),
		grpc.InitialWindowSize(callWindow),
		grpc.InitialConnWindowSize(window),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: connectionIdle, Time: keepaliveIdle, Timeout: keepaliveTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMin, PermitWithoutStream: true}),
	)
	s.grpc.RegisterService(deploymentsDesc(), &deploymentService{
		engine: cfg.Engine, lifetime: s.lifetime,
		uploads:  newUploads(cfg.Clock, cfg.MaxModuleSize, maxUploads, cfg.Engine.Memory.UploadMemory),
		messages: newUploads(cfg.Clock, cfg.MaxModuleSize, maxMessages, cfg.Engine.Memory.UploadMemory),
		checks:   newUploads(cfg.Clock, cfg.MaxModuleSize, maxChecks, cfg.Engine.Memory.UploadMemory),
	})
	workflows := &workflowService{engine: cfg.Engine, lifetime: s.lifetime}
	crusterv1.RegisterWorkflowServiceServer(s.grpc, workflows)
	crusterv1.RegisterScheduleServiceServer(s.grpc, &scheduleService{engine: cfg.Engine, starts: workflows})
	crusterv1.RegisterEntityServiceServer(s.grpc, &entityService{around: in, engine: cfg.Engine, lifetime: s.lifetime})
	crusterv1.RegisterDeferredServiceServer(s.grpc, &deferredService{engine: cfg.Engine})
	grpc_health_v1.RegisterHealthServer(s.grpc, &healthService{clock: cfg.Clock, lifetime: s.lifetime, ready: s.Ready})
	reflection.Register(s.grpc)
	return s, nil
}

// Serve answers gRPC calls on the listener until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(s.arrivals.listen(l)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Shutdown ends the waiting calls, lets the others finish until ctx is done, and stops. It is idempotent.
func (s *Server) Shutdown(ctx context.Context) {
	s.lifetime.end()
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

// Ready returns why the host makes no progress: the server is shutting down, or the engine's error.
// It is nil if all is well.
func (s *Server) Ready(ctx context.Context) error {
	if s.lifetime.over() {
		return abi.Errorf(abi.CodeShuttingDown, "the host is shutting down")
	}
	return s.engine.Ready(ctx)
}
