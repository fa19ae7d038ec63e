package cli

import (
	"io"
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// settings are the flags of a host.
type settings struct {
	cfg       serve.Config
	logFormat string
	logLevel  string
}

// add adds the flags of every host. The flags of the store are apart, for dev has one of its own.
func (s *settings) add(flags *pflag.FlagSet) {
	s.cfg.CacheSize, s.cfg.GuestMemory, s.cfg.MaxModuleSize = 4<<30, 64<<20, 32<<20
	flags.Int64Var(
		&s.cfg.ActivityFuel, "activity-fuel", 0,
		"how much fuel an attempt of an activity may use; 0 means without a limit",
	)
	flags.DurationVar(
		&s.cfg.ActivityTimeout, "activity-timeout", time.Minute,
		"how long an attempt of an activity may take that names no timeout of its own",
	)
	flags.StringVar(
		&s.cfg.CacheDir, "cache-dir", "",
		"folder for compiled modules (default: beside the embedded store, or in the user's cache folder)",
	)
	flags.Var(
		(*size)(&s.cfg.CacheSize), "cache-size",
		"how much disk compiled modules may take; those that were not used for longest are removed",
	)
	flags.DurationVar(
		&s.cfg.DrainTimeout, "drain-timeout", 10*time.Second,
		"how long running activities may take to finish when the host stops",
	)
	flags.StringVar(&s.cfg.GRPCAddr, "grpc-addr", defaultAddr, "where to listen for gRPC")
	flags.Var((*size)(&s.cfg.GuestMemory), "guest-memory", "how much memory one instance of a module may have")
	flags.IntVar(
		&s.cfg.HibernateAfter, "hibernate-after", 64,
		"how many journal entries are worth saving the state of a workflow that leaves memory; -1 means never",
	)
	flags.StringVar(&s.cfg.HTTPAddr, "http-addr", defaultHTTPAddr, "where to listen for probes and metrics")
	flags.DurationVar(
		&s.cfg.IdleTimeout, "idle-timeout", 30*time.Second, "how long an instance stays warm without work",
	)
	flags.StringVar(&s.logFormat, "log-format", "text", "form of the log: text or json")
	flags.StringVar(&s.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	flags.IntVar(&s.cfg.MaxActivities, "max-activities", 128, "how many attempts of activities run at the same time")
	flags.IntVar(
		&s.cfg.MaxConnections, "max-connections", 10_000,
		"how many connections of clients may be open; further ones are closed at once",
	)
	flags.IntVar(
		&s.cfg.MaxExecutions, "max-executions", 20_000, "how many executions are in memory before starts are put off",
	)
	flags.Var((*size)(&s.cfg.MaxModuleSize), "max-module-size", "how large a module may be")
	flags.Var(
		(*size)(&s.cfg.Memory), "memory",
		"how much memory instances, replays, compilations, uploads and queued ops may take together; 0 is half of "+
			"what the machine has",
	)
	flags.StringVar(&s.cfg.Name, "name", "", "name of this host in the store (default: machine and process)")
	flags.BoolVar(
		&s.cfg.Profiling, "pprof", false, "serve profiles of the process at /debug/pprof/ of the HTTP address",
	)
	flags.DurationVar(
		&s.cfg.RequestWindow, "request-window", 24*time.Hour,
		"how long a request that is repeated under the same id is known again",
	)
	flags.DurationVar(&s.cfg.Retention, "retention", 0, "how long finished executions are kept; 0 means for ever")
	flags.Int64Var(
		&s.cfg.TurnFuel, "turn-fuel", 0,
		"how much fuel a workflow may use between two durable calls; 0 means without a limit",
	)
	flags.DurationVar(
		&s.cfg.TurnTimeout, "turn-timeout", 10*time.Second, "how long a workflow may compute between two durable calls",
	)
	fromEnvironment(
		flags, "activity-fuel", "activity-timeout", "cache-dir", "cache-size", "drain-timeout", "grpc-addr",
		"guest-memory", "hibernate-after", "http-addr",
		"idle-timeout", "log-format", "log-level", "max-activities", "max-connections", "max-executions",
		"max-module-size", "memory", "name", "pprof",
		"request-window", "retention", "turn-fuel", "turn-timeout",
	)
}

// addStore adds the flags that name a store.
func (s *settings) addStore(flags *pflag.FlagSet) {
	flags.StringVar(&s.cfg.Schema, "schema", "cruster", "schema of Cruster's own tables in Postgres")
	flags.StringVar(&s.cfg.Store, "store", "", serve.StoreUsage)
	fromEnvironment(flags, "schema", "store")
}

// config returns the configuration of the flags, with a logger that writes to w, and with the
// environment's settings for hosts under test.
func (s *settings) config(w io.Writer, lookup func(name string) (string, bool)) (serve.Config, error) {
	log, err := s.logger(w)
	if err != nil {
		return serve.Config{}, err
	}
	cfg := s.cfg
	cfg.Logger = log
	return cfg, underTest(&cfg, lookup)
}

func (s *settings) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return nil, usage.Errorf("--log-level: there is no level %q: choose debug, info, warn or error", s.logLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch s.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	default:
		return nil, usage.Errorf("--log-format: there is no form %q: choose text or json", s.logFormat)
	}
}
