package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/undertest"
)

// Config configures a host. Zero means the default of the package that uses the value, so that each default is written
// down once.
type Config struct {
	// ActivityFuel is how much fuel an attempt of an activity may use; 0 means without a limit.
	ActivityFuel int64
	// ActivityTimeout is how long an attempt of an activity may take that names no timeout of its own.
	ActivityTimeout time.Duration
	// CacheDir is the folder for compiled modules. Defaults to one beside the embedded store, or in the user's cache
	// folder.
	CacheDir string

	// CacheSize bounds the compiled modules in that folder, in bytes.
	CacheSize int64
	// DrainTimeout is how long running activities may take to finish in Stop.
	DrainTimeout time.Duration
	// GRPCAddr is where to listen for gRPC.
	GRPCAddr string
	// GuestMemory is how much memory one instance of a module may have, in bytes.
	GuestMemory int64
	// HibernateAfter is how many entries of a journal are worth saving the state of a guest that gives up its instance.
	// Negative means never.
	HibernateAfter int
	// HTTPAddr is where to listen for probes and metrics.
	HTTPAddr string
	// IdleTimeout is how long an instance stays warm without work.
	IdleTimeout time.Duration
	// Logger receives the logs of the host, workflows and activities. It is required.
	Logger *slog.Logger
	// MaxActivities is how many attempts of activities run at the same time.
	MaxActivities int
	// MaxConnections is how many gRPC connections may be open.
	MaxConnections int
	// MaxExecutions is how many executions are in memory before starts are put off.
	MaxExecutions int
	// MaxModuleSize is how large a module may be, in bytes.
	MaxModuleSize int64
	// Memory bounds the memory of instances, replays, compilations, uploads and queued ops
	// together, in bytes.
	Memory int64
	// Name is the host's name in the store. Defaults to machine and process.
	Name string
	// Profiling serves /debug/pprof/ on HTTPAddr.
	Profiling bool
	// RequestWindow is how long a request that is repeated under the same id is known again.
	RequestWindow time.Duration
	// Retention is how long finished executions are kept; 0 means for ever.
	Retention time.Duration
	// Schema is the schema of Cruster's own tables in Postgres.
	Schema string
	// Store is "sqlite:DIR" or "postgres://USER@HOST/DATABASE". It is required.
	Store string
	// TurnFuel is how much fuel a workflow may use between two durable calls; 0 means without a limit.
	TurnFuel int64
	// TurnTimeout is how long a workflow may compute between two durable calls.
	TurnTimeout time.Duration
	// UnderTest has settings for tests. Nil is none.
	UnderTest *undertest.Options
}

// engine is the engine's part; the caller adds the store and the registry.
func (c *Config) engine() host.Config {
	return host.Config{
		ActivityFuel:    c.ActivityFuel,
		ActivityTimeout: c.ActivityTimeout,
		DrainTimeout:    c.DrainTimeout,
		HibernateAfter:  c.HibernateAfter,
		IdleTimeout:     c.IdleTimeout,
		Logger:          c.Logger,
		MaxActivities:   c.MaxActivities,
		MaxExecutions:   c.MaxExecutions,
		Memory:          c.Memory,
		Name:            c.Name,
		RequestWindow:   c.RequestWindow,
		Retention:       c.Retention,
		TurnFuel:        c.TurnFuel,
		TurnTimeout:     c.TurnTimeout,
		UnderTest:       c.UnderTest,
		Wasm: wasm.Config{
			CacheDir: c.compiledDir(), CacheSize: c.CacheSize,
			CompileInSubprocess: compileInSubprocess(c.compiledDir()),
			MaxModuleSize:       c.MaxModuleSize, MemoryLimit: c.GuestMemory,
		},
	}
}

// compiledDir is where compiled modules are kept. It holds native code that the host will run, so it never lies where
// others may write. It is empty, and the modules are compiled anew at each start, if the user has no home.
func (c *Config) compiledDir() string {
	if c.CacheDir != "" {
		return c.CacheDir
	}
	if dir, ok := strings.CutPrefix(c.Store, embedded); ok {
		return filepath.Join(dir, "compiled")
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cruster", "compiled")
}
