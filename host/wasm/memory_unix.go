//go:build linux || darwin

package wasm

import "syscall"

// reserve claims address space that cannot be used yet and costs nothing. It returns nil if there is none to be had.
func reserve(size uint64) []byte {
	if size == 0 {
		return nil
	}
	space, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return space
}

// open lets the bytes from the first offset to the second be used. They are zero.
func open(space []byte, from, to uint64) bool {
	return from >= to || syscall.Mprotect(space[from:to], syscall.PROT_READ|syscall.PROT_WRITE) == nil
}

func unreserve(space []byte) error { return syscall.Munmap(space) }
