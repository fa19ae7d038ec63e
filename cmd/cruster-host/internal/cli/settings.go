package cli

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm"
)

// settings are those of a host, in alphabetical order. Zero means the default of
// whoever uses the value, so that each default is written down once.
type settings struct {
	activityTimeout time.Duration
	cacheDir        string
	drainTimeout    time.Duration
	grpcAddr        string
	guestMemory     size
	httpAddr        string
	idleTimeout     time.Duration
	logFormat       string
	logLevel        string
	maxActivities   int
	maxExecutions   int
	maxModuleSize   size
	maxResident     int
	name            string
	retention       time.Duration
	schema          string
	store           string
	turnTimeout     time.Duration
}

func (s *settings) add(flags *pflag.FlagSet) {
	s.guestMemory, s.maxModuleSize = 64<<20, 32<<20
	flags.DurationVar(&s.activityTimeout, "activity-timeout", time.Minute, "how long an attempt of an activity may take that names no timeout of its own")
	flags.StringVar(&s.cacheDir, "cache-dir", "", "folder for compiled modules (default: beside the embedded store, or in the user's cache folder)")
	flags.DurationVar(&s.drainTimeout, "drain-timeout", 10*time.Second, "how long running activities may take to finish when the host stops")
	flags.StringVar(&s.grpcAddr, "grpc-addr", defaultAddr, "where to listen for gRPC")
	flags.Var(&s.guestMemory, "guest-memory", "how much memory one instance of a module may have")
	flags.StringVar(&s.httpAddr, "http-addr", "127.0.0.1:8600", "where to listen for probes and metrics")
	flags.DurationVar(&s.idleTimeout, "idle-timeout", 30*time.Second, "how long an instance stays warm without work")
	flags.StringVar(&s.logFormat, "log-format", "text", "form of the log: text or json")
	flags.StringVar(&s.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	flags.IntVar(&s.maxActivities, "max-activities", 128, "how many attempts of activities run at the same time")
	flags.IntVar(&s.maxExecutions, "max-executions", 20_000, "how many executions are in memory before starts are put off")
	flags.Var(&s.maxModuleSize, "max-module-size", "how large a module may be")
	flags.IntVar(&s.maxResident, "max-resident", 256, "how many instances of workflows stay warm")
	flags.StringVar(&s.name, "name", "", "name of this host in the store (default: machine and process)")
	flags.DurationVar(&s.retention, "retention", 0, "how long finished executions are kept; 0 means for ever")
	flags.DurationVar(&s.turnTimeout, "turn-timeout", 10*time.Second, "how long a workflow may compute between two durable calls")
	fromEnvironment(flags, "activity-timeout", "cache-dir", "drain-timeout", "grpc-addr", "guest-memory", "http-addr", "idle-timeout", "log-format", "log-level",
		"max-activities", "max-executions", "max-module-size", "max-resident", "name", "retention", "turn-timeout")
}

// engine makes the engine's part of the settings; the caller adds the store and
// the registry.
func (s *settings) engine(log *slog.Logger) (host.Config, error) {
	fault, err := faultPoint(os.Getenv("CRUSTER_FAULT"))
	if err != nil {
		return host.Config{}, err
	}
	cache, err := s.compiledDir()
	if err != nil {
		return host.Config{}, err
	}
	return host.Config{
		ActivityTimeout: s.activityTimeout,
		DrainTimeout:    s.drainTimeout,
		EvictAlways:     os.Getenv("CRUSTER_EVICT_ALWAYS") == "1",
		FaultPoint:      fault,
		IdleTimeout:     s.idleTimeout,
		Logger:          log,
		MaxActivities:   s.maxActivities,
		MaxExecutions:   s.maxExecutions,
		MaxResident:     s.maxResident,
		Name:            s.name,
		Retention:       s.retention,
		TurnTimeout:     s.turnTimeout,
		Wasm:            wasm.Config{CacheDir: cache, MaxModuleSize: int64(s.maxModuleSize), MemoryLimit: int64(s.guestMemory)},
	}, nil
}

// compiledDir is where compiled modules are kept. It holds native code that the
// host will run, so it never lies where others may write.
func (s *settings) compiledDir() (string, error) {
	if s.cacheDir != "" {
		return s.cacheDir, nil
	}
	if dir, ok := strings.CutPrefix(s.store, "sqlite:"); ok {
		return filepath.Join(dir, "compiled"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", nil // without a home the modules are compiled anew at each start
	}
	return filepath.Join(dir, "cruster", "compiled"), nil
}

func (s *settings) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return nil, usagef("--log-level: there is no level %q: choose debug, info, warn or error", s.logLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch s.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	default:
		return nil, usagef("--log-format: there is no form %q: choose text or json", s.logFormat)
	}
}

// size is a number of bytes, written as 64MiB, 32M, 4GiB or plain.
type size int64

var units = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}}

func (s *size) Set(text string) error {
	factor := int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = rest, u.factor
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > (1<<62)/factor {
		return usagef("%q is no size; write it like 64MiB", text)
	}
	*s = size(n * factor)
	return nil
}

func (s *size) String() string {
	for _, u := range []int{2, 1, 0} {
		if n, f := int64(*s), units[u].factor; n >= f && n%f == 0 {
			return strconv.FormatInt(n/f, 10) + units[u].suffix
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Type() string { return "size" }
