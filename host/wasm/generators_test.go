package wasm

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// putGenerator writes a generator with this seed that has yielded used words.
func putGenerator(memory []byte, seed byte, used int) {
	key := [32]byte{seed}
	source := rand.NewChaCha8(key)
	block := used / generatorWords
	for range block * generatorWords {
		source.Uint64()
	}
	words := generatorWords
	if block == 3 {
		words -= generatorReseed
	}
	for w := range words {
		binary.LittleEndian.PutUint64(memory[w*8:], source.Uint64())
	}
	copy(memory[generatorBlock:], key[:])
	binary.LittleEndian.PutUint32(memory[generatorI:], uint32(used%generatorWords))
	binary.LittleEndian.PutUint32(memory[generatorN:], uint32(words))
	binary.LittleEndian.PutUint32(memory[generatorC:], uint32(block*4))
}

// TestGeneratorsAreFound puts generators into two memories that otherwise hold the same noise, and looks for them.
func TestGeneratorsAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one := make([]byte, 32<<10)
		noise := rand.NewChaCha8([32]byte{9})
		_, _ = noise.Read(one)
		two := bytes.Clone(one)
		var want []generator
		at := 0
		for range rapid.IntRange(0, 5).Draw(t, "generators") {
			at += 8 * rapid.IntRange(0, 600).Draw(t, "gap")
			used := rapid.IntRange(0, 120).Draw(t, "used")
			cheap := rapid.Bool().Draw(t, "cheap")
			putGenerator(one[at:], 1, used)
			putGenerator(two[at:], 2, rapid.IntRange(0, 120).Draw(t, "used by the other"))
			if cheap {
				two[at+generatorSize] ^= 1
			}
			want = append(want, generator{uint64(at), cheap})
			at += generatorSize + generatorCheap
		}
		for range rapid.IntRange(0, 5).Draw(t, "decoys") {
			two[rapid.IntRange(at, len(two)-1).Draw(t, "decoy")]++
		}
		got, err := findGenerators(one, two)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestWhatIsNoGenerator(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(memory []byte){
		"another word":    func(memory []byte) { memory[100]++ },
		"the last word":   func(memory []byte) { memory[generatorBlock-1]++ },
		"another seed":    func(memory []byte) { memory[generatorBlock+31]++ },
		"a wild index":    func(memory []byte) { memory[generatorI] = 99 },
		"a wild length":   func(memory []byte) { memory[generatorN] = 31 },
		"another counter": func(memory []byte) { memory[generatorC] = 4 },
		"a wild counter":  func(memory []byte) { memory[generatorC] = 3 },
	} {
		one, two := make([]byte, 8<<10), make([]byte, 8<<10)
		putGenerator(one[800:], 1, 5)
		putGenerator(two[800:], 2, 5)
		found, err := findGenerators(one, two)
		require.NoError(t, err)
		require.Len(t, found, 1)
		change(one[800:])
		found, err = findGenerators(one, two)
		require.NoError(t, err)
		require.Empty(t, found, name)
	}
	same := make([]byte, 8<<10)
	putGenerator(same[800:], 1, 5)
	found, err := findGenerators(same, bytes.Clone(same))
	require.NoError(t, err)
	require.Empty(t, found, "a seed that is always the same is the program's own")
}

func TestTooManyGenerators(t *testing.T) {
	t.Parallel()
	one, two := make([]byte, 64<<10), make([]byte, 64<<10)
	for n := range maxGenerators + 1 {
		putGenerator(one[n*400:], 1, n)
		putGenerator(two[n*400:], 2, n)
	}
	_, err := findGenerators(one, two)
	require.ErrorIs(t, err, errTooManyGenerators)
}

// TestReseed compares a reseeded generator with one begun with that seed.
func TestReseed(t *testing.T) {
	t.Parallel()
	memory, want := make([]byte, 4<<10), make([]byte, 4<<10)
	putGenerator(memory[8:], 1, 77)
	memory[8+generatorSize] = 5 // of the cheap one
	memory[8+generatorSize+generatorCheap] = 6
	seed := [32]byte{7}
	putGenerator(want[8:], 7, 0)
	copy(want[8+generatorSize:], "cheaply!\x06")
	random := bytes.NewReader(append(seed[:], "cheaply!and not this"...))
	require.NoError(t, reseed(memory, []generator{{8, true}}, random))
	require.Equal(t, want, memory)
	require.Equal(t, len("and not this"), random.Len())
	require.Error(t, reseed(memory, []generator{{8, false}}, random), "the source must not fail")
}
