package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/cruster/cruster/abi"
)

// Saved is the state of a parked instance, apart from the common initial state of its module's
// instances: the written pages of its memory, its globals, and how far its clock has gone. Its
// random source and all else that it sees of the world is the caller's to keep.
//
// The same reasons for which an instance can be reset to its image make this complete: whatever state is out of the
// host's reach cannot be changed by a module that has an image (see image.go), and a guest that is parked has no stack.
type Saved struct {
	// Base is the image that the pages are told against.
	Base [32]byte `msgpack:"base"`
	// Size of the linear memory in bytes.
	Size uint64 `msgpack:"size"`
	// Pages are the numbers of those pages that differ from the image, or from zeros behind its end, ascending. Content
	// is theirs, one after the other.
	Pages   []uint32 `msgpack:"pages"`
	Content []byte   `msgpack:"content"`
	Globals []uint64 `msgpack:"globals"`
	// Clock is the first reading of the world's clock by the monotonic one, 0 if there was none.
	// Origin is the reading of the monotonic clock then.
	Clock  int64 `msgpack:"clock"`
	Origin int64 `msgpack:"origin"`
	// Fuel is the fuel that its turns have used.
	Fuel int64 `msgpack:"fuel"`
}

const (
	statePage = 4 << 10
	// maxStateContent bounds the pages of a state: of an instance that has written more there is none.
	maxStateContent = 24 << 20
)

var (
	// ErrNoState says that an instance has no state that could be saved: its module has no image, it is not parked, or
	// it has written too much.
	ErrNoState = errors.New("wasm: the instance has no state that can be saved")
	// ErrOtherState says that a state is not one of this module, as this host instantiates it.
	ErrOtherState = errors.New("wasm: the state is not one of this module")
)

// Save reads the state of a parked instance, which stays as it is.
func (i *Instance) Save() (*Saved, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase != phaseParked || i.machine.image == nil || i.machine.dirty {
		return nil, ErrNoState
	}
	img, memory := i.machine.image, i.linear.bytes()
	s := &Saved{
		Base:    img.id(),
		Size:    uint64(len(memory)),
		Globals: i.machine.readGlobals(),
		Origin:  i.origin,
		Fuel:    i.FuelUsed(),
	}
	if !i.base.IsZero() {
		s.Clock = i.base.UnixNano()
	}
	for at := 0; at < len(memory); at += statePage {
		page := memory[at : at+statePage]
		if img.has(at, page) {
			continue
		}
		if len(s.Content) >= maxStateContent {
			return nil, ErrNoState
		}
		s.Pages = append(s.Pages, uint32(at/statePage))
		s.Content = append(s.Content, page...)
	}
	return s, nil
}

// Restore makes an instance in a state that was saved, parked. It sees the given world, whose memory has room for all
// that was saved.
func (m *Module) Restore(ctx context.Context, world World, s *Saved) (*Instance, error) {
	if err := m.runtime.enter(); err != nil {
		return nil, err
	}
	defer m.runtime.leave()
	img, err := m.imageFor(ctx, world)
	if err != nil {
		return nil, err
	}
	if img == nil || m.runtime.cfg.DisableImages || img.id() != s.Base || !s.fits(m, world, img) {
		return nil, ErrOtherState
	}
	return m.instantiateImage(ctx, world, img, func(i *Instance) error { return i.restore(world, s) })
}

// fits checks a state read from a store before it is used.
func (s *Saved) fits(m *Module, world World, img *image) bool {
	if s.Size < img.size || s.Size > uint64(m.memoryLimit(world)) || s.Size%pageSize != 0 ||
		len(s.Content) != len(s.Pages)*statePage || len(s.Globals) != len(img.globals) {
		return false
	}
	for n, page := range s.Pages {
		if uint64(page) >= s.Size/statePage || n > 0 && page <= s.Pages[n-1] {
			return false
		}
	}
	return true
}

// restore brings an instance that is in the state of its image into another.
func (i *Instance) restore(world World, s *Saved) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.enterWorld(world)
	i.linear.grow = nil // the caller has memory for the saved state
	memory := i.mod.Memory()
	if more := s.Size - uint64(memory.Size()); more > 0 {
		if _, ok := memory.Grow(uint32(more / pageSize)); !ok {
			return i.dieLocked(abi.Errorf(abi.CodeOverloaded, "the host has no memory left for an instance"))
		}
	}
	i.linear.grow = i.admit
	bytes := i.linear.bytes()
	i.linear.stray()
	for n, page := range s.Pages {
		copy(bytes[int(page)*statePage:][:statePage], s.Content[n*statePage:])
	}
	for n, g := range i.machine.globals {
		g.Set(s.Globals[n])
	}
	i.origin, i.hasOrigin = s.Origin, true
	if s.Clock != 0 {
		i.base = time.Unix(0, s.Clock)
	}
	i.phase = phaseParked
	i.fuelUsed.Store(s.Fuel)
	i.memory.Store(i.memorySizeLocked())
	return nil
}

// has tells whether the image has this page at an offset. Behind its end there are zeros.
func (img *image) has(at int, page []byte) bool {
	if at < len(img.content()) {
		return bytes.Equal(img.content()[at:at+statePage], page)
	}
	return allZero(page)
}

// id returns the digest of the image's content.
func (img *image) id() [32]byte {
	img.named.Do(func() {
		h := sha256.New()
		_ = binary.Write(h, binary.LittleEndian, img.size)
		_ = binary.Write(h, binary.LittleEndian, img.globals)
		_, _ = h.Write(img.content())
		_, _ = fmt.Fprint(h, img.generators)
		h.Sum(img.name[:0])
	})
	return img.name
}

func allZero(b []byte) bool {
	for len(b) >= 8 {
		if *(*uint64)(unsafe.Pointer(&b[0])) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
