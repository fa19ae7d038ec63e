package wasm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/timelimit"
	"github.com/cruster/cruster/host/wasm/binary"
)

const (
	pageSize = 64 << 10
	maxPages = 1 << 16 // all that 32 bits address

	defaultMemoryLimit   = 64 << 20
	defaultCacheSize     = 4 << 30
	defaultMaxModuleSize = 32 << 20
	defaultInitTimeout   = 10 * time.Second
	defaultIdleInstances = 64
	defaultIdleTime      = 30 * time.Second
)

// Config holds the settings of a [Runtime]. Its zero value is the default.
type Config struct {
	// CacheDir is the folder of the compilation cache; it is created if it is missing. It holds native code, so only
	// the host may write to it. Empty keeps compiled modules in memory only.
	CacheDir string

	// CacheSize bounds the files of the compilation cache, in bytes: the least recently used are
	// removed. Defaults to 4 GiB.
	CacheSize int64

	// Clock measures the limits of time. Defaults to the real one.
	Clock clockwork.Clock

	// CompileInSubprocess has another process compile a binary into the cache: by [CompileInto]. Nil means that this
	// process compiles everything. See subprocess.go.
	CompileInSubprocess func(ctx context.Context, content []byte) error

	// DisableImages has every instance run its initialisation. It behaves the same, only slower: this is for tests, and
	// to find out whether images are at fault.
	DisableImages bool

	// IdleInstances bounds how many instances of one module wait to be used again. A negative number keeps none.
	// Defaults to 64.
	IdleInstances int

	// IdleTime is how long an instance waits to be used again. Defaults to 30 seconds.
	IdleTime time.Duration

	// InitTimeout bounds the work of a module before its first turn: its initialisation, and its
	// answers to cruster_abi and cruster_describe. Time during which the host did not run does not
	// count. Defaults to 10 seconds.
	InitTimeout time.Duration

	// Logger receives records that concern no single caller. Defaults to a logger that drops everything.
	Logger *slog.Logger

	// MaxModuleSize bounds the binary of a module that is uploaded, in bytes. Defaults to 32 MiB.
	MaxModuleSize int64

	// MemoryLimit bounds the linear memory of one instance, in bytes, rounded down to pages of 64 KiB. Defaults to 64
	// MiB.
	MemoryLimit int64
}

func (c Config) withDefaults() (Config, error) {
	if c.CacheSize == 0 {
		c.CacheSize = defaultCacheSize
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.IdleInstances == 0 {
		c.IdleInstances = defaultIdleInstances
	}
	if c.IdleTime == 0 {
		c.IdleTime = defaultIdleTime
	}
	if c.InitTimeout == 0 {
		c.InitTimeout = defaultInitTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.MaxModuleSize == 0 {
		c.MaxModuleSize = defaultMaxModuleSize
	}
	if c.MemoryLimit == 0 {
		c.MemoryLimit = defaultMemoryLimit
	}
	switch {
	case c.CacheSize < 0:
		return c, abi.Errorf(abi.CodeBadConfig, "the size of the compilation cache is negative: %d", c.CacheSize)
	case c.IdleTime < 0:
		return c, abi.Errorf(abi.CodeBadConfig, "the time that an idle instance is kept is negative: %v", c.IdleTime)
	case c.InitTimeout < 0:
		return c, abi.Errorf(
			abi.CodeBadConfig, "the time for the initialisation of a module is negative: %v", c.InitTimeout,
		)
	case c.MaxModuleSize < 0:
		return c, abi.Errorf(abi.CodeBadConfig, "the largest size of a module is negative: %d", c.MaxModuleSize)
	case c.MemoryLimit < pageSize || c.MemoryLimit > 4<<30:
		return c, abi.Errorf(
			abi.CodeBadConfig, "the memory limit of an instance is %d bytes, not between 64 KiB and 4 GiB",
			c.MemoryLimit,
		)
	}
	return c, nil
}

// Runtime compiles modules and runs instances. It is safe for concurrent use.
type Runtime struct {
	cfg    Config
	engine wazero.Runtime
	stats  stats
	warm   warmMachines
	cores  *cores

	// without names the facilities that this system lacks. Tests take things away.
	without struct{ imageFiles, reservations bool }
	cache   wazero.CompilationCache

	// offered holds the functions a module may import, by "module.name".
	offered map[string]binary.Signature

	// compileSlots bounds how many modules are compiled at a time.
	compileSlots chan struct{}
	// subprocess is held while another process compiles.
	subprocess sync.Mutex

	// life ends when Close is called; it ends all compilations and turns.
	life context.Context
	end  context.CancelFunc

	// mu guards the following fields, and the fields of Module that say so.
	mu        sync.Mutex
	closed    bool
	busy      int           // calls that are inside the engine
	idle      chan struct{} // closed when closed && busy == 0
	modules   map[string]*Module
	compiling map[string]*compilation
}

// MemoryLimit is how many bytes of memory an instance may have whose world names no limit of its own.
func (r *Runtime) MemoryLimit() int64 { return r.cfg.MemoryLimit }

// New makes a runtime.
func New(ctx context.Context, cfg Config) (*Runtime, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		cfg:          cfg,
		cores:        newCores(),
		offered:      make(map[string]binary.Signature),
		compileSlots: make(chan struct{}, goruntime.GOMAXPROCS(0)),
		idle:         make(chan struct{}),
		modules:      make(map[string]*Module),
		compiling:    make(map[string]*compilation),
	}
	config := engineConfig()
	if cfg.CacheDir != "" {
		if r.cache, err = wazero.NewCompilationCacheWithDir(cfg.CacheDir); err != nil {
			return nil, fmt.Errorf("open the compilation cache %q: %w", cfg.CacheDir, err)
		}
		config = config.WithCompilationCache(r.cache)
	}
	r.engine = wazero.NewRuntimeWithConfig(ctx, config)
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := r.offer(ctx); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

// engineConfig is how the engine compiles.
func engineConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		// Debug sections come from the upload and would be parsed for nothing but line numbers in backtraces.
		WithDebugInfoEnabled(false).
		WithMemoryLimitPages(maxPages)
}

// offer instantiates the host's own modules and records their exports.
func (r *Runtime) offer(ctx context.Context) error {
	wasi := r.engine.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(wasi)
	own := r.engine.NewHostModuleBuilder(abi.ImportModule)
	exportImports(own)
	fuel := r.engine.NewHostModuleBuilder(binary.FuelModule)
	exportRefuel(fuel)
	for name, builder := range map[string]wazero.HostModuleBuilder{
		wasi_snapshot_preview1.ModuleName: wasi,
		abi.ImportModule:                  own,
		binary.FuelModule:                 fuel,
	} {
		compiled, err := builder.Compile(experimental.WithFunctionListenerFactory(ctx, dirtyListenerFactory{}))
		if err != nil {
			return fmt.Errorf("compile the host module %s: %w", name, err)
		}
		for function, def := range compiled.ExportedFunctions() {
			if name == binary.FuelModule {
				continue
			}
			r.offered[name+"."+function] = binary.Signature{
				Params: string(def.ParamTypes()), Results: string(def.ResultTypes()),
			}
		}
		if _, err := r.engine.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(name)); err != nil {
			return fmt.Errorf("instantiate the host module %s: %w", name, err)
		}
	}
	return nil
}

// Close ends all turns and compilations, waits for them, and releases everything. If ctx ends
// first, the remainder is released once the last of them has returned.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	if r.busy == 0 {
		close(r.idle)
	}
	r.mu.Unlock()
	r.end()

	select {
	case <-r.idle:
		return r.release(ctx)
	case <-ctx.Done():
		go func() {
			<-r.idle
			if err := r.release(context.WithoutCancel(ctx)); err != nil {
				r.cfg.Logger.Error("release the Wasm runtime", "error", err)
			}
		}()
		return fmt.Errorf("close the Wasm runtime: %w", ctx.Err())
	}
}

func (r *Runtime) release(ctx context.Context) error {
	r.mu.Lock()
	modules := slices.Collect(maps.Values(r.modules))
	r.mu.Unlock()
	for _, m := range modules {
		m.drain()
		m.closeImages()
	}
	err := r.engine.Close(ctx)
	if r.cache != nil {
		err = errors.Join(err, r.cache.Close(ctx))
	}
	if err != nil {
		return fmt.Errorf("close the Wasm runtime: %w", err)
	}
	return nil
}

// enter announces a call into the engine; leave must follow. It fails once Close was called, so that the engine is not
// used while it closes.
func (r *Runtime) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return abi.Errorf(abi.CodeShuttingDown, "the Wasm runtime is closed")
	}
	r.busy++
	return nil
}

func (r *Runtime) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	if r.closed && r.busy == 0 {
		close(r.idle)
	}
}

// boundInit bounds the work of a module before its first turn.
func (r *Runtime) boundInit(ctx context.Context) (context.Context, context.CancelFunc) {
	return timelimit.WithTimeout(ctx, r.cfg.Clock, r.cfg.InitTimeout)
}

// bind derives a context that ends with ctx and with the runtime.
func (r *Runtime) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
