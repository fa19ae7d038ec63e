package binary

import (
	"cmp"
	"math"
	"slices"
)

// maxSegmentGap is the longest run of zeros that is written out. Beyond it the bytes cost more than the segment.
const maxSegmentGap = 4 << 10

// dataSegment is an active segment.
type dataSegment struct {
	offset uint64
	bytes  []byte
}

// mergeSegments returns the data section with as few segments as possible, or as it is.
//
// Go's linker leaves out every run of zeros and so splits the initial memory of even a small program into tens of
// thousands of segments, each with an offset expression that the engine evaluates anew for every instance: two thirds
// of the time that it takes to make an instance. Memory starts out as zeros, so neighbours can be joined by writing the
// zeros between them.
//
// This is only done where a guest cannot notice it: all segments are active ones of memory 0 with a constant offset; no
// two of them overlap, so that their order does not matter; and no instruction names a segment by its index.
// Instructions that do so require a section with the number of segments, which such modules lack.
func mergeSegments(m *Module, content []byte) []byte {
	for _, s := range m.sections {
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
	return append(appendU32(nil, uint64(count)), out...)
}

// readSegments parses a data section, in order of the offsets. It returns false if something in it cannot be merged or
// is malformed; the engine refuses the latter.
func readSegments(content []byte) ([]dataSegment, bool) {
	r := &reader{data: content}
	var segments []dataSegment
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		const activeOfMemoryZero = 0
		if r.u32() != activeOfMemoryZero || r.byte() != opI32Const {
			return nil, false
		}
		offset, ok := r.s32()
		if !ok || r.byte() != opEnd {
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
	out = append(out, 0, opI32Const)
	out = appendS32(out, int32(uint32(start)))
	out = append(out, opEnd)
	out = appendU32(out, end-start)
	at := start
	for _, s := range neighbours {
		out = append(out, make([]byte, s.offset-at)...)
		out = append(out, s.bytes...)
		at = s.end()
	}
	return out
}
