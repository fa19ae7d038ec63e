package wasm

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// The query to the kernel: which pages of a mapping are its own, because they were written to. See
// PAGEMAP_SCAN in linux/fs.h, since Linux 6.7.
type (
	scanArg struct {
		size, flags, start, end, walkEnd, vec, vecLen, maxPages uint64
		inverted, mask, anyOf, returned                         uint64
	}
	pageRegion struct{ start, end, categories uint64 }
)

const (
	pagemapScan   = 0xc0606610
	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
)

// Beyond these bounds it is cheaper, or kinder to the machine, to drop all pages.
const (
	maxRestoredRegions = 512
	maxRestoredBytes   = 1 << 20
)

// pagemap is the file for querying the kernel; nil if there is none.
var pagemap = sync.OnceValue(func() *os.File {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil
	}
	return f
})

// scans are arguments of such questions, with room for the answers. The kernel is told where that is by a number, which
// the runtime of Go does not see: so it has to be on the heap, where nothing moves. A stack may grow, and be somewhere
// else then.
var scans = sync.Pool{New: func() any { return &scan{} }}

type scan struct {
	arg     scanArg
	regions [maxRestoredRegions]pageRegion
}

// writtenTo finds the pages of a mapping that were written to, since it was made or forgotten. It reports false if
// there are too many to restore, or if the kernel cannot tell which they are.
func writtenTo(space []byte) ([]span, bool) {
	f := pagemap()
	if f == nil || len(space) == 0 {
		return nil, false
	}
	s := scans.Get().(*scan)
	defer scans.Put(s)
	base := uint64(uintptr(unsafe.Pointer(&space[0])))
	written, ok := s.written(f, base, base+uint64(len(space)))
	if !ok {
		return nil, false
	}
	spans := make([]span, len(written))
	for n, r := range written {
		spans[n] = span{r.start - base, r.end - base}
	}
	return spans, true
}

// written asks for the pages that were written to, between two addresses. It reports false if they are too many, or not
// known.
func (s *scan) written(f *os.File, start, end uint64) ([]pageRegion, bool) {
	s.arg = scanArg{
		size: uint64(unsafe.Sizeof(s.arg)), start: start, end: end,
		vec: uint64(uintptr(unsafe.Pointer(&s.regions[0]))), vecLen: maxRestoredRegions,
		inverted: pageIsFile, mask: pageIsFile, anyOf: pageIsPresent | pageIsSwapped,
	}
	n, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), pagemapScan, uintptr(unsafe.Pointer(&s.arg)))
	runtime.KeepAlive(s)
	if errno != 0 || s.arg.walkEnd != end || n > maxRestoredRegions {
		return nil, false
	}
	var bytes uint64
	for _, r := range s.regions[:n] {
		bytes += r.end - r.start
	}
	return s.regions[:n], bytes <= maxRestoredBytes
}
