package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

// A generator is a place in guest memory that holds the state of one of Go's ChaCha8 generators (package
// internal/chacha8rand of its library):
//
//	buf  [32]uint64  the block that was computed from the seed
//	seed [4]uint64
//	i    uint32      how many words of the block are taken
//	n    uint32      how many there are to take
//	c    uint32      the counter of the block: 0, 4, 8 or 12
//
// The runtime keeps one for all of the program and one for each thread. A thread's is followed by a
// word of a cheaper generator, which decides the order of select.
type generator struct {
	offset uint64
	cheap  bool // the word behind it is a generator, too
}

// Layout of a generator.
const (
	generatorWords  = 32
	generatorBlock  = generatorWords * 8
	generatorSeed   = 32
	generatorI      = generatorBlock + generatorSeed
	generatorN      = generatorI + 4
	generatorC      = generatorI + 8
	generatorSize   = generatorI + 16 // with the padding to words
	generatorCheap  = 8
	generatorReseed = 4 // words at the end of the last block that are not handed out
)

// Bounds of the search, which guests of any kind can make long.
const (
	maxGenerators          = 64
	maxGeneratorCandidates = 10_000
)

var errTooManyGenerators = errors.New("its memory looks too much like random generators")

// findGenerators compares the memories of two instances that were initialised with different random bytes, and finds
// the generators in the differences. That a place holds a generator is certain: its block follows from its seed, in
// both memories.
func findGenerators(one, two []byte) ([]generator, error) {
	var found []generator
	candidates := 0
	const step = 4 << 10
	for page := 0; page+step <= len(one); page += step {
		if bytes.Equal(one[page:page+step], two[page:page+step]) {
			continue
		}
		for at := page; at < page+step && at+generatorSize <= len(one); at += 8 {
			if !looksLikeGenerator(one, two, at) {
				continue
			}
			if candidates++; candidates > maxGeneratorCandidates {
				return nil, errTooManyGenerators
			}
			if !isGenerator(one[at:]) || !isGenerator(two[at:]) {
				continue
			}
			if len(found) == maxGenerators {
				return nil, errTooManyGenerators
			}
			behind := at + generatorSize
			cheap := behind+generatorCheap <= len(one) &&
				!bytes.Equal(one[behind:behind+generatorCheap], two[behind:behind+generatorCheap])
			found = append(found, generator{uint64(at), cheap})
		}
	}
	return found, nil
}

// looksLikeGenerator is a cheap test that tells most places apart.
func looksLikeGenerator(one, two []byte, at int) bool {
	differ := func(at int) bool {
		return binary.LittleEndian.Uint64(one[at:]) != binary.LittleEndian.Uint64(two[at:])
	}
	if !differ(at) || !differ(at+generatorBlock) {
		return false
	}
	i, n, c := generatorCounters(one[at:])
	return i <= n && (n == generatorWords || n == generatorWords-generatorReseed) && c <= 12 && c%4 == 0
}

func generatorCounters(memory []byte) (i, n, c uint32) {
	return binary.LittleEndian.Uint32(
		memory[generatorI:],
	), binary.LittleEndian.Uint32(memory[generatorN:]), binary.LittleEndian.Uint32(memory[generatorC:])
}

// isGenerator computes the block from the seed and compares it with the one in memory.
func isGenerator(memory []byte) bool {
	source := rand.NewChaCha8([generatorSeed]byte(memory[generatorBlock:]))
	_, _, c := generatorCounters(memory)
	for range c / 4 * generatorWords {
		source.Uint64()
	}
	words := generatorWords
	if c == 12 {
		words -= generatorReseed
	}
	for w := range words {
		if binary.LittleEndian.Uint64(memory[w*8:]) != source.Uint64() {
			return false
		}
	}
	return true
}

// reseed gives each generator a seed of its own from random, as if it had just been made. The
// amount and the order of its reads from random are part of the format of journals.
func reseed(memory []byte, generators []generator, random io.Reader) error {
	for _, g := range generators {
		var fresh [generatorSeed + generatorCheap]byte
		size := generatorSeed
		if g.cheap {
			size += generatorCheap
		}
		if _, err := io.ReadFull(random, fresh[:size]); err != nil {
			return fmt.Errorf("read the random source: %w", err)
		}
		state := memory[g.offset:]
		source := rand.NewChaCha8([generatorSeed]byte(fresh[:]))
		for w := range generatorWords {
			binary.LittleEndian.PutUint64(state[w*8:], source.Uint64())
		}
		copy(state[generatorBlock:], fresh[:generatorSeed])
		binary.LittleEndian.PutUint32(state[generatorI:], 0)
		binary.LittleEndian.PutUint32(state[generatorN:], generatorWords)
		binary.LittleEndian.PutUint32(state[generatorC:], 0)
		copy(state[generatorSize:], fresh[generatorSeed:size])
	}
	return nil
}
