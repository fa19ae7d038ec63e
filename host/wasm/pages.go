package wasm

// A machine in the pool keeps the pages that guests have written to: they are made the
// image's again by a copy. The next guest, which will write to much the same pages, does
// not have to wait for the kernel to make each of them anew.
//
// # What must hold
//
// No guest may see what another has left. So a reset has to know every page that was
// written to, or drop them all.
//
// # Which pages these are
//
// The kernel can tell, but it looks at every page of the memory to find out, which takes
// longer than a short call of a guest. Most calls write to no page that an earlier one has
// not written to, and that can be told from a number: the first write to a page of a
// mapping is a fault, and the kernel counts the faults of each thread. A call that stayed
// on its thread and caused none has made no page its own. So the pages that are known
// from the last question are still all of them.
//
// Everything that writes to the memory of an instance is one of these:
//
//   - A turn: the guest, and the host functions that it calls. It is watched. It strays if
//     there was a fault, or if it was not watched to its end.
//   - The seeds of generators, before the first turn. Their pages are always among those
//     that are known.
//   - What is said to stray: cruster_describe, and a state that was saved.
//   - A reset, which writes to the pages that are known.

// span is a part of a memory, in bytes from its start.
type span struct{ start, end uint64 }

// restore makes the pages that were written to those of the image. It does nothing and
// reports false if they are too many, or not known.
func (m *linearMemory) restore(img *image) bool {
	space, view := m.reserved[:img.size], img.content()
	if m.own == nil || m.strayed {
		own, ok := writtenTo(space)
		if !ok {
			return false
		}
		m.own, m.strayed = append(own, img.generatorSpans()...), false
	}
	for _, s := range m.own {
		copy(space[s.start:s.end], view[s.start:s.end])
	}
	return true
}

// forget drops all pages that were written to.
func (m *linearMemory) forget(img *image) bool {
	m.own, m.strayed = nil, false
	return forget(m.reserved[:img.size])
}

// stray takes note of writes that are not watched.
func (m *linearMemory) stray() { m.strayed = true }

// generatorSpans is where the seeds of generators are.
func (img *image) generatorSpans() []span {
	spans := make([]span, len(img.generators))
	for n, g := range img.generators {
		spans[n] = span{g.offset, min(g.offset+generatorSize+generatorCheap, img.size)}
	}
	return spans
}

// watchTurn begins to watch a turn, if that is of use: there are pages that are known, and
// no other was written to yet. The goroutine stays on its thread.
func (i *Instance) watchTurn() {
	if i.linear.own != nil && !i.linear.strayed {
		i.watch = watchFaults()
	}
}

// endWatch ends it.
func (i *Instance) endWatch() {
	if i.watch.end() && i.linear != nil {
		i.linear.stray()
	}
}

// stopWatching ends it before the turn does. That is for turns that take long: a goroutine
// that is bound to a thread is a burden to others, and the kernel can be asked.
func (i *Instance) stopWatching() {
	if i.watch.on {
		i.linear.stray()
	}
	i.watch.end()
}
