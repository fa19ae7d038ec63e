package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary"
	"github.com/cruster/cruster/host/wasm/symbolize"
)

// Module is a compiled module. It is safe for concurrent use.
type Module struct {
	runtime  *Runtime
	digest   string
	imports  []string
	memory   int64 // bytes that an instance has from the start
	compiled wazero.CompiledModule
	template *binary.Template // nil if its instances have state that is out of reach
	images   images
	pool     pool

	// Guarded by Runtime.mu.
	instances int  // that are not closed
	forgotten bool // to be dropped with the last instance
}

// compilation is one under way, shared by all callers that wait for it.
type compilation struct {
	done   chan struct{}
	module *Module
	err    error
}

// Digest is the lower-case hex SHA-256 of a binary.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Compile validates and compiles a binary, once per digest; the module is kept until Close or
// [Runtime.Forget]. A fault of the binary is an *abi.Error. All callers with the same digest share
// one compilation, which goes on even if all of them stop waiting.
//
// The limits on uploads are not applied: see [Runtime.Accept].
func (r *Runtime) Compile(ctx context.Context, content []byte) (*Module, error) {
	return r.CompileAs(ctx, Digest(content), content)
}

// CompileAs is [Runtime.Compile] of a binary whose digest the caller has computed.
func (r *Runtime) CompileAs(ctx context.Context, digest string, content []byte) (*Module, error) {
	r.mu.Lock()
	if m, ok := r.modules[digest]; ok && !r.closed {
		m.forgotten = false
		r.mu.Unlock()
		return m, nil
	}
	c, ok := r.compiling[digest]
	if !ok {
		if r.closed {
			r.mu.Unlock()
			return nil, abi.Errorf(abi.CodeShuttingDown, "the Wasm runtime is closed")
		}
		c = &compilation{done: make(chan struct{})}
		r.compiling[digest] = c
		r.busy++
		// The caller may use the bytes again as soon as its own context ends.
		go r.runCompilation(c, digest, bytes.Clone(content))
	}
	r.mu.Unlock()

	select {
	case <-c.done:
		return c.module, c.err
	case <-ctx.Done():
		return nil, fmt.Errorf("compile module %s: %w", digest, ctx.Err())
	}
}

// IsCompiled tells whether the module of a digest is there.
func (r *Runtime) IsCompiled(digest string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.modules[digest] != nil
}

func (r *Runtime) runCompilation(c *compilation, digest string, content []byte) {
	defer r.leave()
	c.module, c.err = r.compile(digest, content)
	r.mu.Lock()
	delete(r.compiling, digest)
	if c.err == nil {
		r.modules[digest] = c.module
	}
	r.mu.Unlock()
	close(c.done)
}

func (r *Runtime) compile(digest string, content []byte) (*Module, error) {
	module, err := r.check(content)
	if err != nil {
		return nil, err
	}
	select {
	case r.compileSlots <- struct{}{}:
		defer func() { <-r.compileSlots }()
	case <-r.life.Done():
		return nil, abi.Errorf(abi.CodeShuttingDown, "the Wasm runtime is closed")
	}
	p, err := r.prepare(digest, module, len(content))
	if err != nil {
		return nil, err
	}
	note := r.compileInSubprocess(digest, p.Content)
	if r.life.Err() != nil { // the engine would begin anew, and not look at it
		return nil, abi.Errorf(abi.CodeShuttingDown, "the Wasm runtime is closed")
	}
	compiled, err := r.engineCompile(p.Content)
	if err != nil && p.file != "" { // whatever was read there
		_ = os.Remove(p.file)
		if p, err = r.prepare(digest, module, len(content)); err != nil {
			return nil, err
		}
		compiled, err = r.engineCompile(p.Content)
	}
	if err != nil && r.cache != nil && r.cacheFailed(err) {
		r.cfg.Logger.Warn("the compilation cache failed and was emptied", "dir", r.cfg.CacheDir, "error", err)
		r.emptyCache()
		compiled, err = r.engineCompile(p.Content)
	}
	if err != nil {
		var host *hostPanic
		switch {
		case r.life.Err() != nil:
			return nil, abi.Errorf(abi.CodeShuttingDown, "the Wasm runtime is closed")
		case errors.As(err, &host):
			return nil, abi.Errorf(
				abi.CodeInternal, "the module %s could not be compiled: %s", digest,
				symbolize.OneLine(host.Error(), 300),
			)
		case r.cache != nil && r.cacheFailed(err):
			return nil, fmt.Errorf("compile module %s: %w", digest, err)
		}
		return nil, abi.Errorf(
			abi.CodeNotWasm, "the module %s does not compile: %s", digest, symbolize.OneLine(err.Error(), 300),
		)
	}
	r.takeNote(note)
	r.keepPrepared(digest, len(content), p)
	r.trimCache()
	m := &Module{
		runtime:  r,
		digest:   digest,
		imports:  module.ImportNames(),
		memory:   module.MemoryFromTheStart(),
		compiled: compiled,
		template: p.Template,
	}
	m.images.byLimit = make(map[int64]*imaging)
	if p.Template == nil {
		m.noImage(errors.New(p.Hidden))
	}
	return m, nil
}

// Accept compares a binary that is uploaded with the limits of this host, on its size and on the
// memory that it has from the start, and returns an *abi.Error if it exceeds one of them, or was
// built as a program. Only an upload is held against them. They are settings, and a module in the
// store was accepted under earlier ones: executions that run on it go on after the operator has
// lowered them.
func (r *Runtime) Accept(content []byte) error {
	if int64(len(content)) > r.cfg.MaxModuleSize {
		return abi.Errorf(
			abi.CodeModuleTooLarge, "the module has %d bytes, and this host takes at most %d", len(content),
			r.cfg.MaxModuleSize,
		)
	}
	module, err := binary.Parse(content)
	if err != nil {
		return err
	}
	if err := module.CheckLibrary(); err != nil {
		return err
	}
	return module.CheckMemory(r.cfg.MemoryLimit)
}

// check parses a binary and compares it with the limits of every host, before the engine sees it.
func (r *Runtime) check(content []byte) (*binary.Module, error) {
	module, err := binary.Parse(content)
	if err != nil {
		return nil, err
	}
	if err := module.Validate(binary.Rules{Functions: r.offered}); err != nil {
		return nil, err
	}
	return module, nil
}

// engineCompile compiles on this goroutine alone: the engine could use several, but a panic on one
// of its own could not be recovered. Code that a subprocess compiled is loaded.
func (r *Runtime) engineCompile(content []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.cfg.Logger.Error("the Wasm engine panicked while compiling", "panic", p)
			err = &hostPanic{fmt.Errorf("the engine panicked: %v", p)}
		}
	}()
	return r.engine.CompileModule(r.life, content)
}

// Forget drops the compiled module of this digest, as soon as no instance uses it. Compiling the binary again before
// that keeps it.
func (r *Runtime) Forget(digest string) {
	r.mu.Lock()
	m := r.modules[digest]
	if m != nil {
		m.forgotten = true
	}
	drop := r.dropLocked(m)
	r.mu.Unlock()
	drop()
}

// dropLocked takes a module out of the runtime if it was forgotten and has no instances. The caller calls the returned
// function after it released the lock.
func (r *Runtime) dropLocked(m *Module) func() {
	if m == nil || !m.forgotten || m.instances > 0 || r.modules[m.digest] != m {
		return func() {}
	}
	delete(r.modules, m.digest)
	return func() {
		m.drain()
		m.closeImages()
		if err := m.compiled.Close(context.WithoutCancel(r.life)); err != nil {
			r.cfg.Logger.Warn("close a compiled module", "digest", m.digest, "error", err)
		}
	}
}

// acquire counts a new instance; release takes it back.
func (m *Module) acquire() error {
	m.runtime.mu.Lock()
	defer m.runtime.mu.Unlock()
	if m.runtime.modules[m.digest] != m {
		return fmt.Errorf("module %s was forgotten; compile it again", m.digest)
	}
	m.instances++
	return nil
}

func (m *Module) release() {
	m.runtime.mu.Lock()
	m.instances--
	drop := m.runtime.dropLocked(m)
	m.runtime.mu.Unlock()
	drop()
}

// MemoryBytes is how much linear memory an instance begins with, as far as it is known before the module has
// initialised itself.
func (m *Module) MemoryBytes() int64 {
	m.images.mu.Lock()
	defer m.images.mu.Unlock()
	if m.images.any != nil {
		return int64(m.images.any.size)
	}
	return m.memory
}

// Digest is the lower-case hex SHA-256 of the module's binary.
func (m *Module) Digest() string { return m.digest }

// Imports lists the functions that a binary imports, as [Module.Imports] does, without compiling it.
func Imports(content []byte) ([]string, error) {
	module, err := binary.Parse(content)
	if err != nil {
		return nil, err
	}
	return module.ImportNames(), nil
}

// Imports lists the functions the module imports, "cruster.sleep", sorted: the upper bound of its
// abilities.
func (m *Module) Imports() []string { return append([]string(nil), m.imports...) }
