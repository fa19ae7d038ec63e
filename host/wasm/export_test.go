package wasm

import "bytes"

// State is all that an instance knows.
type State struct {
	Memory  []byte
	Globals []uint64
}

// Size returns the size of the memory.
func (s State) Size() int { return len(s.Memory) }

// StateOf copies the state of an instance.
func StateOf(i *Instance) State {
	i.mu.Lock()
	defer i.mu.Unlock()
	view, _ := i.mod.Memory().Read(0, i.mod.Memory().Size())
	return State{bytes.Clone(view), i.machine.readGlobals()}
}

// HasImage tells whether the instance was made from an image.
func HasImage(i *Instance) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.machine.image != nil
}

// TakeAway makes a runtime behave as on systems without files in memory, or that cannot reserve
// address space.
func TakeAway(r *Runtime, imageFiles, reservations bool) {
	r.without.imageFiles, r.without.reservations = imageFiles, reservations
}

// CompileChanged compiles a binary as Compile does, but with a change of the engine's input.
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

// RefuelsOf counts how often guests of the module's runtime have called for fuel.
func RefuelsOf(m *Module) uint64 { return m.runtime.Stats().Refuels }

// KeptStacks are the sizes of the stacks that idle machines keep; 0 is a missing one.
func KeptStacks(m *Module) (starts []int) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	for _, mc := range m.pool.idle {
		size := 0
		if mc.handles.start != nil {
			size = stackOf(mc.handles.start)
		}
		starts = append(starts, size)
	}
	return starts
}

// PagesWritten counts the pages of 4 KiB that differ from the image.
func PagesWritten(i *Instance) (pages int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	const page = 4 << 10
	memory, content := i.linear.bytes(), i.machine.image.content()
	for at := 0; at < len(memory); at += page {
		if at >= len(content) && !allZero(memory[at:at+page]) ||
			at < len(content) && !bytes.Equal(memory[at:at+page], content[at:at+page]) {
			pages++
		}
	}
	return pages
}

// MaxWarm is how many idle machines of a runtime stay warm at most.
const MaxWarm = maxWarm

// Warm counts the idle machines of a module that stay warm.
func Warm(m *Module) (count int) {
	w := &m.runtime.warm
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := w.idle.Front(); e != nil; e = e.Next() {
		if e.Value.(idleMachine).module == m {
			count++
		}
	}
	return count
}
