package probes

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cruster/cruster/abi"
)

// readyTimeout bounds one call of Config.Ready.
const readyTimeout = 2 * time.Second

// Config configures a [Server]. Only Ready is required.
type Config struct {
	// Gatherer yields the metrics for /metrics. Defaults to the default gatherer of Prometheus.
	Gatherer prometheus.Gatherer
	// Profiling serves profiles of the process at /debug/pprof/. Defaults to no: a profile shows
	// the activity of the host, and taking one costs its guests time.
	Profiling bool
	// Ready returns why the host makes no progress, or nil if it does.
	Ready func(ctx context.Context) error
}

// Server answers probes and hands out metrics. Make one with [New], start it with [Server.Serve], stop it with
// [Server.Close].
type Server struct {
	cfg  Config
	http *http.Server
}

// New makes a server.
func New(cfg Config) (*Server, error) {
	if cfg.Ready == nil {
		return nil, abi.Errorf(abi.CodeBadConfig, "ops: Config.Ready is not set")
	}
	if cfg.Gatherer == nil {
		cfg.Gatherer = prometheus.DefaultGatherer
	}
	s := &Server{cfg: cfg}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Gatherer, promhttp.HandlerOpts{}))
	if cfg.Profiling {
		addProfiles(mux)
	}
	// Probes are small and quick: a client that is slower loses its connection.
	s.http = &http.Server{
		Handler:           mux,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
	}
	return s, nil
}

// addProfiles adds the profiles of the Go runtime. The one page of them that is missing is the command line: it may
// hold the password of the store.
func addProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// Handler answers /healthz, /readyz and /metrics, and /debug/pprof/ if it is on.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Serve answers requests on the listener until Close.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close stops the server at once: a probe that loses its answer asks again.
func (s *Server) Close() error { return s.http.Close() }

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "ok")
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.cfg.Ready(ctx); err != nil {
		writeText(w, http.StatusServiceUnavailable, abi.AsError(err).Error())
		return
	}
	writeText(w, http.StatusOK, "ok")
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// A probe that hung up needs no answer.
	_, _ = w.Write([]byte(text + "\n"))
}
