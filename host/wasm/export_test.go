package wasm

// CompileChanged compiles a binary as Compile does, but with a change of what the
// engine is given.
func (r *Runtime) CompileChanged(content []byte, change func(rewritten []byte) []byte) (*Module, error) {
	module, err := r.check(content)
	if err != nil {
		return nil, err
	}
	rewritten, err := module.Rewrite()
	if err != nil {
		return nil, err
	}
	compiled, err := r.engineCompile(change(rewritten))
	if err != nil {
		return nil, err
	}
	m := &Module{runtime: r, digest: Digest(content), memory: module.MemoryFromTheStart(), compiled: compiled}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules[m.digest] = m
	return m, nil
}
