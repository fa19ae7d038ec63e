package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// # Compiling in a subprocess
//
// The engine can compile the functions of a module on all cores. But then it does so on goroutines of its own, and a
// panic there ends the process: a host that takes modules from strangers compiles on one goroutine, which can be
// recovered. So a large module is compiled on all cores by another process, into the cache on disk, and the host finds
// it there.
//
// The other process only helps, and nothing depends on it. If it cannot be started, crashes or is
// killed, the host compiles by itself. If it writes nonsense, the engine refuses the entry of the
// cache. It gets the binary as checked and rewritten by the host, and has no more rights than the
// host.
//
// A note in the cache says that a module is there: a host that starts again asks no one.

// subprocessSize is the size of a binary from which a subprocess compiles it: below, starting a process
// takes longer than it saves.
const subprocessSize = 1 << 20

// notesDir is the folder of the notes in the cache.
const notesDir = "notes"

// CompileInto compiles a binary into the cache in a folder, on all cores, as a [Runtime] with that
// cache does on one. It is for processes of their own: a panic of the engine ends them.
func CompileInto(ctx context.Context, dir string, content []byte) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return fmt.Errorf("open the compilation cache %q: %w", dir, err)
	}
	defer cache.Close(ctx)
	ctx = experimental.WithCompilationWorkers(ctx, goruntime.GOMAXPROCS(0))
	engine := wazero.NewRuntimeWithConfig(ctx, engineConfig().WithCompilationCache(cache))
	defer engine.Close(ctx)
	if _, err := engine.CompileModule(ctx, content); err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	return nil
}

// compileInSubprocess has a large binary compiled by another process, unless it is in the cache.
// That takes seconds, so the log explains the wait of a module's first call.
func (r *Runtime) compileInSubprocess(digest string, content []byte) (note string) {
	if r.cfg.CompileInSubprocess == nil || r.cache == nil || len(content) < subprocessSize {
		return ""
	}
	sum := sha256.Sum256(content)
	note = filepath.Join(r.cfg.CacheDir, notesDir, hex.EncodeToString(sum[:]))
	if _, err := os.Stat(note); err == nil {
		return ""
	}
	r.cfg.Logger.Info("compiling a module; what needs it waits", "module", digest, "bytes", len(content))
	r.subprocess.Lock() // one has all cores
	err := r.cfg.CompileInSubprocess(r.life, content)
	r.subprocess.Unlock()
	if err != nil && r.life.Err() == nil {
		r.cfg.Logger.Warn("a module could not be compiled on all cores; it is compiled on one", "error", err)
	}
	return note
}

// takeNote says that a binary is in the cache. Without the note another subprocess is started, and
// finds it there.
func (r *Runtime) takeNote(note string) {
	if note == "" {
		return
	}
	err := os.MkdirAll(filepath.Dir(note), 0o700)
	if err == nil {
		err = os.WriteFile(note, nil, 0o600)
	}
	if err != nil {
		r.cfg.Logger.Warn("the compilation cache could not be written to", "error", err)
	}
}
