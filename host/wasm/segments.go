package wasm

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Merging data segments. Go's linker leaves out every run of zeros and so
// splits the initial memory of even a small program into tens of thousands of
// segments, each with an offset expression that the engine evaluates anew for
// every instance: two thirds of the time it takes to lay out an instance. Memory
// starts out as zeros, so neighbours can be joined by writing the zeros between
// them.
//
// This is only done where it cannot be noticed: all segments are active ones of
// memory 0 with a constant offset, no two of them overlap, so that their order
// does not matter, and no instruction names a segment by its index (those that do
// require a section with the number of segments, which such modules lack).

// maxSegmentGap is the longest run of zeros that is written out. Beyond it the
// bytes cost more than the segment.
const maxSegmentGap = 4 << 10

// dataSegment is an active segment.
type dataSegment struct {
	offset uint64
	bytes  []byte
}

// mergeSegments returns the content of the data section with as few segments as
// possible, or the content as it is.
func mergeSegments(l *layout, content []byte) []byte {
	for _, s := range l.sections {
		if s.id == sectionDataCount {
			return content
		}
	}
	segments, ok := readSegments(content)
	if !ok {
		return content
	}
	out := make([]byte, 0, len(content))
	count := 0
	for len(segments) > 0 {
		n, end := 1, segments[0].end()
		for n < len(segments) && segments[n].offset-end <= maxSegmentGap {
			end = segments[n].end()
			n++
		}
		out = appendSegment(out, segments[:n], end)
		segments = segments[n:]
		count++
	}
	return append(binary.AppendUvarint(nil, uint64(count)), out...)
}

// readSegments parses a data section, in order of the offsets; false if it holds anything that cannot be
// merged, or that is malformed: the engine will say so.
func readSegments(content []byte) ([]dataSegment, bool) {
	r := &sectionReader{data: content}
	var segments []dataSegment
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		const activeOfMemoryZero, i32Const, endOfExpression = 0, 0x41, 0x0b
		if r.u32() != activeOfMemoryZero || r.byte() != i32Const {
			return nil, false
		}
		offset, ok := r.s32()
		if !ok || r.byte() != endOfExpression {
			return nil, false
		}
		segments = append(segments, dataSegment{uint64(uint32(offset)), r.bytes(r.u32())})
	}
	if r.err != nil || r.pos != len(r.data) {
		return nil, false
	}
	slices.SortStableFunc(segments, func(a, b dataSegment) int { return cmp.Compare(a.offset, b.offset) })
	var end uint64
	for _, s := range segments {
		if s.offset < end || s.end() > math.MaxUint32 {
			return nil, false
		}
		end = s.end()
	}
	return segments, true
}

func (s dataSegment) end() uint64 { return s.offset + uint64(len(s.bytes)) }

// appendSegment encodes neighbours that end at end as one.
func appendSegment(out []byte, neighbours []dataSegment, end uint64) []byte {
	start := neighbours[0].offset
	out = append(out, 0, 0x41)
	out = appendS32(out, int32(uint32(start)))
	out = append(out, 0x0b)
	out = binary.AppendUvarint(out, end-start)
	at := start
	for _, s := range neighbours {
		out = append(out, make([]byte, s.offset-at)...)
		out = append(out, s.bytes...)
		at = s.end()
	}
	return out
}

// appendS32 encodes a signed LEB128 number.
func appendS32(out []byte, v int32) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
