package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Saved is the state of a parked guest, besides its module and its row.
type Saved struct {
	Instance *wasm.Saved `msgpack:"instance"`
	// Clock is the journal time it sees.
	Clock int64 `msgpack:"clock"`
	// Random is how far its random source was drawn.
	Random []byte `msgpack:"random"`
	// Ops counts the issued ops.
	Ops uint32 `msgpack:"ops"`
	// Open are the ops that wait for their delivery: number and size of each, ascending.
	Open []uint32 `msgpack:"open"`
	// Seen are the identities of the steps that it has issued, each with how many there were, in the order of the
	// identities.
	Seen []byte `msgpack:"seen"`
}

// Bytes is how large the memory of the instance is.
func (s *Saved) Bytes() int64 {
	if s.Instance == nil {
		return 0
	}
	return int64(min(s.Instance.Size, math.MaxInt64))
}

// Fuel returns the fuel used by its turns.
func (s *Saved) Fuel() int64 {
	if s.Instance == nil {
		return 0
	}
	return s.Instance.Fuel
}

// seenSize is an identity and a count.
const seenSize = len(journal.StepID{}) + 4

// Save reads the state of a guest between two turns, which stays as it is.
func (g *Guest) Save() (*Saved, error) {
	instance, err := g.inst.Save()
	if err != nil {
		return nil, err
	}
	random, err := g.random.MarshalBinary()
	if err != nil {
		return nil, err
	}
	s := &Saved{
		Instance: instance, Clock: g.clock, Random: random, Ops: g.ops, Seen: make([]byte, 0, len(g.seen)*seenSize),
	}
	for _, number := range slices.Sorted(maps.Keys(g.open)) {
		s.Open = append(s.Open, number, uint32(g.open[number]))
	}
	for _, step := range slices.SortedFunc(maps.Keys(g.seen), func(a, b journal.StepID) int {
		return bytes.Compare(a[:], b[:])
	}) {
		s.Seen = binary.LittleEndian.AppendUint32(append(s.Seen, step[:]...), g.seen[step])
	}
	return s, nil
}

// Restore makes a guest of a saved state, for the same row. Memory and fuel are as in [Open], but
// the saved memory of the instance is in its permit already.
func Restore(
	ctx context.Context, code *wasm.Module, row *journal.Execution, memory Memory, fuel int64, s *Saved,
) (*Guest, error) {
	if len(s.Seen)%seenSize != 0 || len(s.Open)%2 != 0 || s.Instance == nil {
		return nil, wasm.ErrOtherState
	}
	g, world, err := newGuest(row, memory, fuel)
	if err != nil {
		return nil, err
	}
	if err := g.random.UnmarshalBinary(s.Random); err != nil {
		return nil, fmt.Errorf("%w: %w", wasm.ErrOtherState, err)
	}
	g.clock, g.ops, g.fuel = s.Clock, s.Ops, s.Fuel()
	for seen := range slices.Chunk(s.Seen, seenSize) {
		step := journal.StepID(seen)
		g.seen[step] = binary.LittleEndian.Uint32(seen[len(step):])
	}
	for open := range slices.Chunk(s.Open, 2) {
		if g.admit(int(open[1])); g.starved != nil {
			return nil, g.starved
		}
		g.open[open[0]] = int(open[1])
		g.openBytes += int(open[1])
	}
	if g.inst, err = code.Restore(ctx, world, s.Instance); err != nil {
		return nil, err
	}
	return g, nil
}
