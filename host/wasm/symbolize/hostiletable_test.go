package symbolize

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHostileTablesCostLittle: a table that a guest has made up has each of many calls be looked
// for at its very end, and each call be inlined in others. The work for it is bounded all the same.
func TestHostileTablesCostLittle(t *testing.T) {
	t.Parallel()
	mem := make([]byte, 4<<20)
	const T = 0x40
	copy(mem[T:], goTable)
	w64 := func(at int, v uint64) { binary.LittleEndian.PutUint64(mem[at:], v) }
	w32 := func(at int, v uint32) { binary.LittleEndian.PutUint32(mem[at:], v) }
	const names, units, files, tables, text = 0x1000, 0x2000, 0x3000, 0x4000, 0x100000
	w64(T+8, 1000)
	w64(T+8+24, names-T)
	w64(T+8+32, units-T)
	w64(T+8+40, files-T)
	w64(T+8+48, tables-T)
	w64(T+8+56, text-T)
	copy(mem[names+1:], "runtime.x")
	copy(mem[files:], "/a/b/c.go")
	// one record for all functions
	rec := 0x10000
	for f := 0; f < 1000; f++ {
		w32(text+8*f+4, uint32(rec))
	}
	r := text + rec
	w32(r+recordName, 1)
	w32(r+recordFrame, 0) // -1 -> 0 frame
	w32(r+recordFile, 0x1000)
	w32(r+recordLine, 0x1000)
	w32(r+recordTables, 4)
	mem[r+recordPlaces] = 8
	w32(r+recordEnd+8, 0x1000)
	w32(r+recordEnd+4*(4+3), 0) // place
	// table: 10000 changes: first +k; alternate +1 -1, blocks large: 6 per, so that block 59999 is reached at n=9999
	at := tables + 0x1000
	put := func(v uint64) { copy(mem[at:], []byte{byte(v) | 0x80, 0x80, 0x80, 0x80, 0}); at += 5 }
	for n := 0; n < 10000; n++ {
		ch := uint64(4) // +2
		if n > 0 {
			if n%2 == 1 {
				ch = 2
			} else {
				ch = 1
			}
		}
		put(ch)
		put(6)
	}
	// moduledata
	md := 0x200000
	w64(md, T)
	w64(md+8, names)
	w64(md+moduleInlined, 0x300000)
	// inlined call records 0..3 all: name=1, caller=59999
	for n := 0; n < 8; n++ {
		w32(0x300000+16*n+inlinedName, 1)
		w32(0x300000+16*n+inlinedCaller, 59999)
	}
	// stack
	sp := 0x280000
	for i := 0; i < 80; i++ {
		w64(sp+8*i, uint64(firstGoFunction)<<16|60000&0xffff)
	}
	p, ok := findGoProgram(mem)
	require.True(t, ok)
	calls := p.stack(goCall{function: 0, behind: 60000}, uint64(sp))
	_ = p.authorFrames(calls)
	require.Zero(t, p.steps, "it would have gone on")
	require.LessOrEqual(t, len(calls), maxGoFrames)
	require.Empty(t, p.position(0, 59999), "nothing is known once they are used up")
}
