package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
)

// image is the state of an instance that has initialised itself: every other instance of the module begins with it.
//
// # Invisible to a guest
//
// The clock stands still while an image is made, and its random numbers are always the same. So an
// image is a function of the binary and the limit of memory, and every host arrives at the same
// one. A program's copies of either would be the same in all its instances, for good. The runtime
// of Go does keep some: it seeds its generators before anything else. Therefore a module is
// initialised twice, with different random numbers. Where the two memories differ we look for the
// states of generators, and an instance is given new ones of its world's random source. There
// remain the values that initialisation itself derived from random numbers: the hash keys of maps,
// which must not change because there are maps that were built with them.
//
// A module that reads the wall clock in its initialisation, or draws random numbers there that we do not find again as
// the seed of a generator, has no image: each of its instances initialises itself in its own world.
//
// # The limit of memory
//
// A module that has asked for more memory than the limit while it initialised itself knows the limit. Its image is for
// instances with this limit alone.
type image struct {
	size       uint64
	globals    []uint64
	generators []generator
	limited    bool // it depends on the limit of memory

	file   *imageFile // nil if there are none on this system
	memory []byte     // instead of a file

	named sync.Once
	name  [32]byte // see id
}

// content is the memory of the image.
func (img *image) content() []byte {
	if img.file != nil {
		return img.file.view
	}
	return img.memory
}

func (img *image) close() {
	if img != nil && img.file != nil {
		img.file.close()
	}
}

// images are the images of one module.
type images struct {
	mu      sync.Mutex
	any     *image             // for all limits that it fits into; guarded by mu
	byLimit map[int64]*imaging // guarded by mu
}

// imaging is an image that is being made, or was.
type imaging struct {
	done  chan struct{}
	image *image // nil if the module can have none
	err   error
}

// image returns the image for instances with this limit of memory. Nil says that the module has none. All that ask at
// the same time share one attempt, which goes on even if all of them stop waiting.
func (m *Module) image(ctx context.Context, limit int64) (*image, error) {
	m.images.mu.Lock()
	if img := m.images.any; img != nil && img.size <= uint64(limit) {
		m.images.mu.Unlock()
		return img, nil
	}
	attempt, ok := m.images.byLimit[limit]
	if !ok {
		if err := m.runtime.enter(); err != nil {
			m.images.mu.Unlock()
			return nil, err
		}
		attempt = &imaging{done: make(chan struct{})}
		m.images.byLimit[limit] = attempt
		go m.makeImage(attempt, limit)
	}
	m.images.mu.Unlock()

	select {
	case <-attempt.done:
		return attempt.image, attempt.err
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return nil, &Trap{
				Err: abi.Errorf(abi.CodeGuestTimeout, "the module did not initialise itself before the deadline"),
			}
		}
		return nil, &Trap{
			Err: abi.Errorf(abi.CodeGuestTimeout, "the caller gave up before the module had initialised itself"),
		}
	}
}

func (m *Module) makeImage(attempt *imaging, limit int64) {
	defer m.runtime.leave()
	// The module is not dropped before it has its image, whose file would be lost.
	if attempt.err = m.acquire(); attempt.err == nil {
		defer m.release()
		attempt.image, attempt.err = m.newImage(limit)
	}
	m.images.mu.Lock()
	switch {
	case attempt.err != nil:
		delete(m.images.byLimit, limit) // the next one tries again
	case attempt.image != nil && !attempt.image.limited:
		m.images.any = attempt.image
	}
	m.images.mu.Unlock()
	close(attempt.done)
}

// closeImages gives the files back. No instance uses them any more.
func (m *Module) closeImages() {
	m.images.mu.Lock()
	defer m.images.mu.Unlock()
	for _, attempt := range m.images.byLimit {
		attempt.image.close()
	}
	clear(m.images.byLimit)
	m.images.any = nil
}

// newImage initialises the module twice and makes an image of the first of the two. If one of them fails, whatever the
// reason, nothing is known: the next instance tries again. A failure that counted as "no image" would have instances
// initialise themselves on the host where it happened, because of its load or its memory, and begin with the image on
// others: these would replay a journal otherwise.
func (m *Module) newImage(limit int64) (*image, error) {
	one, err := m.initializeNeutral(context.WithoutCancel(m.runtime.life), World{MemoryLimit: limit}, 0)
	if err != nil {
		return nil, err
	}
	defer one.Close()
	two, err := m.initializeNeutral(context.WithoutCancel(m.runtime.life), World{MemoryLimit: limit}, 1)
	if m.runtime.life.Err() != nil {
		return nil, abi.Errorf(abi.CodeShuttingDown, "the Wasm runtime is closed")
	}
	if err != nil {
		return nil, err
	}
	defer two.Close()
	img, err := one.takeImageLocked(two)
	if err != nil {
		m.noImage(err)
		return nil, nil
	}
	return img, nil
}

func (m *Module) noImage(reason error) {
	m.runtime.cfg.Logger.Info(
		"instances of the module initialise themselves, which takes long", "module", m.digest, "reason", reason,
	)
}

// initializeNeutral makes an instance that has initialised itself while the clock stood still. It drew the random
// numbers of this seed.
func (m *Module) initializeNeutral(ctx context.Context, world World, seed byte) (*Instance, error) {
	if err := m.acquire(); err != nil {
		return nil, err
	}
	i := newInstance(m, World{MemoryLimit: world.MemoryLimit})
	i.random = rand.NewChaCha8([32]byte{seed})
	if err := i.initialize(ctx); err != nil {
		_ = i.Close()
		return nil, err
	}
	return i, nil
}

// takeImageLocked compares two instances that differ in their random numbers alone. The error says why the state of one
// of them cannot be the state of others.
func (i *Instance) takeImageLocked(other *Instance) (*image, error) {
	switch {
	case i.machine.dirty || other.machine.dirty:
		return nil, errors.New("its initialisation changes files")
	case i.wallReads > 0:
		return nil, errors.New("its initialisation reads the clock")
	case i.drawn != other.drawn || len(i.linear.bytes()) != len(other.linear.bytes()):
		return nil, errors.New("its initialisation depends on random numbers")
	}
	one, two := i.machine.readGlobals(), other.machine.readGlobals()
	if !slices.Equal(one, two) {
		return nil, errors.New("its globals depend on random numbers")
	}
	memory := i.linear.bytes()
	img := &image{size: uint64(len(memory)), globals: one, limited: i.linear.limited}
	if i.drawn > 0 || !bytes.Equal(memory, other.linear.bytes()) {
		// The runtime of Go draws one seed. A program that draws more keeps it elsewhere.
		var err error
		if img.generators, err = findGenerators(memory, other.linear.bytes()); err != nil {
			return nil, err
		}
		if i.drawn != generatorSeed || len(img.generators) == 0 {
			return nil, errors.New("its initialisation draws random numbers that are not the seed of a generator of Go")
		}
	}
	if i.module.runtime.cfg.DisableImages {
		return img, nil
	}
	if !i.module.runtime.without.imageFiles {
		if file, err := newImageFile(memory); err == nil {
			img.file = file
			return img, nil
		}
	}
	img.memory = bytes.Clone(memory)
	return img, nil
}

// readGlobals are the values of the mutable globals.
func (mc *machine) readGlobals() []uint64 {
	values := make([]uint64, len(mc.globals))
	for n, g := range mc.globals {
		values[n] = g.Get()
	}
	return values
}

// findGlobals finds the globals that the template exports.
func (mc *machine) findGlobals(names []string) error {
	mc.globals = make([]api.MutableGlobal, len(names))
	for n, name := range names {
		g, ok := mc.mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("the engine has no mutable global %s", name)
		}
		mc.globals[n] = g
	}
	return nil
}
