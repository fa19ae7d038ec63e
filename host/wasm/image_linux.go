package wasm

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// imageFile is the memory of an image in a sealed file without a name.
type imageFile struct {
	fd   int
	view []byte // of all of it, to be read
}

// newImageFile copies memory into a file. Pages of zeros stay holes.
func newImageFile(memory []byte) (*imageFile, error) {
	fd, err := unix.MemfdCreate("cruster-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := &imageFile{fd: fd}
	if err := f.fill(memory); err != nil {
		f.close()
		return nil, fmt.Errorf("fill a file in memory: %w", err)
	}
	return f, nil
}

func (f *imageFile) fill(memory []byte) error {
	if err := unix.Ftruncate(f.fd, int64(len(memory))); err != nil {
		return err
	}
	const page = 4 << 10
	for at := 0; at < len(memory); at += page {
		if content := memory[at:min(at+page, len(memory))]; !allZero(content) {
			if _, err := unix.Pwrite(f.fd, content, int64(at)); err != nil {
				return err
			}
		}
	}
	_, err := unix.FcntlInt(
		uintptr(f.fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL,
	)
	if err == nil && len(memory) > 0 {
		f.view, err = unix.Mmap(f.fd, 0, len(memory), unix.PROT_READ, unix.MAP_PRIVATE)
	}
	return err
}

// mapOver puts the image in place of the start of a reservation. Pages written there are the
// writer's own.
func (f *imageFile) mapOver(space []byte) bool {
	_, err := unix.MmapPtr(f.fd, 0, unsafe.Pointer(&space[0]), uintptr(len(space)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
	return err == nil
}

func (f *imageFile) close() {
	if f.view != nil {
		_ = unix.Munmap(f.view)
	}
	_ = unix.Close(f.fd)
}

// forget drops all that was written to a mapping: it shows the image again, or zeros where nothing was mapped.
func forget(space []byte) bool {
	return len(space) == 0 || syscall.Madvise(space, syscall.MADV_DONTNEED) == nil
}

// shut undoes open.
func shut(space []byte) bool {
	return len(space) == 0 || forget(space) && syscall.Mprotect(space, syscall.PROT_NONE) == nil
}
