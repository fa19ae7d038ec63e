package wasm

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
)

// linearMemory backs the memory of one instance. On systems that can, it is a reservation of
// address space as large as the limit, with its first pages open: growing moves nothing and costs
// only the touched pages, and closing gives it all back at once, without the garbage collector.
// Where there is no such reservation it is a slice.
//
// The engine calls Free when it closes a module, which a guest can cause in the middle of a turn (proc_exit), while the
// engine still holds the slice. So Free does nothing, and the instance calls release when the call has returned.
type linearMemory struct {
	reserved []byte                 // the reservation, nil if there is none
	open     uint64                 // bytes of it that can be used
	slice    []byte                 // instead of a reservation
	limit    uint64                 // bytes that it may have
	grow     func(bytes int64) bool // asks the host for more; nil allows it
	refused  bool                   // there was no memory for it, although the limit was not reached
	limited  bool                   // the guest asked for more than the limit
	floor    uint64                 // bytes that it has from the start, whatever the module says
	// shrinking has the next Reallocate return the first floor bytes: see shrink.
	shrinking bool
	// own are the pages of the image that a guest has written to since they were mapped: see
	// pages.go. Nil if they are not known.
	own []span
	// strayed says that others may have been written to since.
	strayed bool
	resets  int // by a copy of these pages
}

var _ experimental.LinearMemory = (*linearMemory)(nil)

// withMemory makes the engine take the memory of the module it instantiates from the instance. With an image it begins
// as the image.
func (i *Instance) withMemory(ctx context.Context, img *image) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, most uint64) experimental.LinearMemory {
			most = min(most, uint64(i.memoryLimit()))
			i.linear = &linearMemory{limit: most, grow: i.admit}
			if !i.module.runtime.without.reservations {
				i.linear.reserved = reserve(most)
			}
			if img != nil {
				i.linear.begin(img)
			}
			return i.linear
		}))
}

// memoryLimit is how many bytes of memory the instance may have. The engine knows only a larger
// one: an instance moved here keeps its limit of the other host. An accepted module has its initial
// memory in any case, also if the limit was lowered since.
func (i *Instance) memoryLimit() int64 { return i.module.memoryLimit(i.world) }

func (m *Module) memoryLimit(world World) int64 {
	limit := m.runtime.cfg.MemoryLimit
	if world.MemoryLimit > 0 {
		limit = world.MemoryLimit
	}
	limit = max(limit, world.MemoryAtLeast)
	return max(limit/pageSize*pageSize, m.memory)
}

// Reallocate makes the memory size bytes long; nil says that there is no room, which the guest sees as a failed
// memory.grow.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if m.shrinking {
		return m.bytes()[:m.floor:m.floor]
	}
	size = max(size, m.floor)
	if size > m.limit {
		m.limited = true
		return nil
	}
	if now := max(m.open, uint64(len(m.slice))); now > 0 && m.grow != nil && !m.grow(int64(size-now)) {
		m.refused = true
		return nil
	}
	if m.reserved == nil {
		m.slice = append(m.slice, make([]byte, size-uint64(len(m.slice)))...)
		return m.slice
	}
	if !open(m.reserved, m.open, size) {
		m.refused = true
		return nil
	}
	m.open = size
	return m.reserved[:size:size]
}

// bytes is all of the memory.
func (m *linearMemory) bytes() []byte {
	if m.reserved == nil {
		return m.slice
	}
	return m.reserved[:m.open]
}

// begin initialises the memory from the image. A failure is left to Reallocate.
func (m *linearMemory) begin(img *image) {
	m.floor = img.size
	if m.reserved != nil && img.file != nil && img.file.mapOver(m.reserved[:img.size]) {
		m.open = img.size
		return
	}
	if m.Reallocate(img.size) != nil {
		copy(m.bytes(), img.content())
	}
}

// Free leaves the memory as it is: see linearMemory.
func (m *linearMemory) Free() {}

// release gives the memory back. Nothing may refer to it any more.
func (m *linearMemory) release() error {
	reserved := m.reserved
	m.reserved, m.slice, m.open = nil, nil, 0
	if reserved == nil {
		return nil
	}
	return unreserve(reserved)
}
