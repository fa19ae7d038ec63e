package binary

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
)

const (
	// goTable begins Go's table of functions since Go 1.20, for Wasm: a magic number, two zeros, instructions of one
	// byte, and pointers of eight.
	goTable = "\xf1\xff\xff\xff\x00\x00\x01\x08"
	// maxGoName bounds the name of a function that is read.
	maxGoName = 4 << 10
)

// goFunctions is the names of the functions of a Go program by their index, as its own table has them; nil if there is
// no such table, or if it does not fit the number of functions.
//
// The table begins with a header of eight words behind the magic number: the numbers of functions
// and of files, where the text begins, and where names, compilation units, files, tables of lines
// and functions are. For each function, in the order of the module, there are two numbers of 32
// bits: its address, and where its record is; the second number of a record says where its name is,
// which ends with a zero.
func goFunctions(segments []dataSegment, functions int) []string {
	memory := sparseMemory(segments)
	at, ok := memory.find(goTable)
	if !ok {
		return nil
	}
	header := func(word uint64) uint64 { return memory.u64(at + 8 + 8*word) }
	count, nameTable, table := header(0), at+header(3), at+header(7)
	if count == 0 || count != uint64(functions) {
		return nil
	}
	names := make([]string, functions)
	for i := range names {
		record := table + uint64(memory.u32(table+8*uint64(i)+4))
		names[i] = memory.text(nameTable + uint64(memory.u32(record+4)))
	}
	return names
}

// sparseMemory is memory as active segments make it: sorted, without overlaps, and zero between them. Addresses outside
// of all are zero too, so that no address is wrong.
type sparseMemory []dataSegment

// find is the address of a text that lies in one segment.
func (m sparseMemory) find(text string) (uint64, bool) {
	for _, s := range m {
		if i := bytes.Index(s.bytes, []byte(text)); i >= 0 {
			return s.offset + uint64(i), true
		}
	}
	return 0, false
}

// from is the bytes from an address to the end of its segment; zeros tells that it is in none.
func (m sparseMemory) from(at uint64) (content []byte, zeros bool) {
	i := sort.Search(len(m), func(i int) bool { return m[i].end() > at })
	if i == len(m) || m[i].offset > at {
		return nil, true
	}
	return m[i].bytes[at-m[i].offset:], false
}

func (m sparseMemory) byte(at uint64) byte {
	content, zeros := m.from(at)
	if zeros {
		return 0
	}
	return content[0]
}

// word reads little-endian bytes, which may lie in several segments.
func (m sparseMemory) word(at uint64, into []byte) {
	if content, zeros := m.from(at); !zeros && len(content) >= len(into) {
		copy(into, content)
		return
	}
	for i := range into {
		into[i] = m.byte(at + uint64(i))
	}
}

func (m sparseMemory) u32(at uint64) uint32 {
	var word [4]byte
	m.word(at, word[:])
	return binary.LittleEndian.Uint32(word[:])
}

func (m sparseMemory) u64(at uint64) uint64 {
	var word [8]byte
	m.word(at, word[:])
	return binary.LittleEndian.Uint64(word[:])
}

// text reads up to a zero, or to the end of a segment, behind which there are zeros.
func (m sparseMemory) text(at uint64) string {
	content, _ := m.from(at)
	content = content[:min(len(content), maxGoName)]
	if end := slices.Index(content, 0); end >= 0 {
		content = content[:end]
	}
	return string(content)
}
