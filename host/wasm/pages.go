package wasm

import (
	"bytes"
	"os"
	"slices"
)

// A machine in the pool keeps the pages that guests have written to: they are made the image's again by a copy. The
// next guest, which will write to much the same pages, does not have to wait for the kernel to make each of them anew.
//
// # Invariants
//
// No guest may see the memory of another. So a reset has to know every page that was written to, or drop them all.
//
// # Which pages these are
//
// The kernel can tell, but it looks at every page of the memory to find out, which takes longer than a short call of a
// guest. Most calls write to no page that an earlier one has not written to, and that can be told from a number: the
// first write to a page of a mapping is a fault, and the kernel counts the faults of each thread. A call that stayed on
// its thread and caused none has made no page its own. So the pages that are known from the last question are still all
// of them.
//
// Everything that writes to the memory of an instance is one of these:
//
//   - A turn: the guest, and the host functions that it calls. It is watched. It strays if
//     there was a fault, or if it was not watched to its end.
//   - The seeds of generators, before the first turn. Their pages are always among the
//     known ones.
//   - The output of cruster_describe, and a saved state, are said to stray.
//   - A reset, which writes to the pages that are known.
//
// # Which of them stay
//
// Guests do different things, and each leaves pages that others have no use for: of an entity in
// Go 70 were copied after a call that had changed 25. So now and then a reset looks which pages
// are the image's anyway, and drops them. A guest that writes to one of them later has a fault there,
// as with any page.

// trimEvery is the number of resets between two searches for useless pages.
const trimEvery = 64

// span is a part of a memory, in bytes from its start.
type span struct{ start, end uint64 }

// restore makes the pages that were written to equal to the image's. It does nothing and reports false if they are too
// many, or not known.
func (m *linearMemory) restore(img *image) bool {
	space, view := m.reserved[:img.size], img.content()
	if m.own == nil || m.strayed {
		own, ok := writtenTo(space)
		if !ok {
			return false
		}
		m.own, m.strayed = append(own, img.generatorSpans()...), false
	}
	if m.resets++; m.resets%trimEvery == 0 && !m.trim(img, space, view) {
		return false
	}
	for _, s := range m.own {
		copy(space[s.start:s.end], view[s.start:s.end])
	}
	return true
}

// trim drops the pages that the last guest has not changed. The pages of generators stay: they are
// written to without being watched. It reports false if the kernel would not.
func (m *linearMemory) trim(img *image, space, view []byte) bool {
	page := uint64(os.Getpagesize())
	seeds := m.own[len(m.own)-len(img.generators):]
	kept := make([]span, 0, len(m.own)) // nil would say that they are not known
	var dropped []span
	for _, s := range m.own[:len(m.own)-len(seeds)] {
		for start := s.start; start < s.end; start += page {
			p := span{start, min(start+page, s.end)}
			if p.meets(seeds) || !bytes.Equal(space[p.start:p.end], view[p.start:p.end]) {
				kept = appendSpan(kept, p)
			} else {
				dropped = appendSpan(dropped, p)
			}
		}
	}
	m.own = append(kept, seeds...)
	for _, s := range dropped {
		if !forget(space[s.start:s.end]) {
			return false
		}
	}
	return true
}

// meets tells whether a part has something in common with one of others.
func (s span) meets(others []span) bool {
	return slices.ContainsFunc(others, func(o span) bool { return s.start < o.end && o.start < s.end })
}

// appendSpan appends a part, to the last one if it follows that.
func appendSpan(all []span, s span) []span {
	if n := len(all); n > 0 && all[n-1].end == s.start {
		all[n-1].end = s.end
		return all
	}
	return append(all, s)
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

// watchTurn begins to watch a turn, if that is of use: there are pages that are known, and no other was written to yet.
// The goroutine stays on its thread.
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

// stopWatching ends it before the turn does. That is for turns that take long: a goroutine that is bound to a thread is
// a burden to others, and the kernel can be asked.
func (i *Instance) stopWatching() {
	if i.watch.on {
		i.linear.stray()
	}
	i.watch.end()
}
