package wasm

// reset brings the state of the image back; false says that it cannot. A guest has returned from its last call, so all
// its state is in memory and globals. Fuel is no state: it is set before every call.
func (mc *machine) reset() bool {
	if mc.image == nil || mc.dirty || mc.linear.refused {
		return false
	}
	kept, ok := mc.linear.reset(mc.image)
	if !ok || !mc.shrink() {
		return false
	}
	for n, g := range mc.globals {
		g.Set(mc.image.globals[n])
	}
	mc.handles.dropGrownStacks()
	mc.owner, mc.linear.grow, mc.warm = nil, nil, kept
	return true
}

// shrink makes the engine's memory as long as the image. There is no call for that: memory only grows. But the engine
// takes whatever length the allocator returns when it grows, also a smaller one.
func (mc *machine) shrink() bool {
	memory := mc.mod.Memory()
	if uint64(memory.Size()) == mc.image.size {
		return true
	}
	mc.linear.shrinking = true
	_, _ = memory.Grow(1)
	mc.linear.shrinking = false
	return uint64(memory.Size()) == mc.image.size
}

// reset restores the memory to the image, up to its size; false says that it cannot. Behind it
// there are zeros, or nothing. Kept says that the written pages stay, as copies of the image's,
// which is done if possible.
func (m *linearMemory) reset(img *image) (kept, ok bool) {
	m.limited = false
	if m.reserved == nil {
		clear(m.slice[img.size:cap(m.slice)])
		m.slice = m.slice[:img.size]
		copy(m.slice, img.content())
		return false, true
	}
	grown := m.reserved[img.size:m.open]
	if img.file == nil {
		copy(m.bytes(), img.content())
		return false, len(grown) == 0
	}
	kept = m.restore(img)
	if !kept && !m.forget(img) || !shut(grown) {
		return false, false
	}
	m.open = img.size
	return kept, true
}
