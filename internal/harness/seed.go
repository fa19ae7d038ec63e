package harness

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Seed is CRUSTER_SEED, or a random one. It is logged, so that a run can be repeated.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("CRUSTER_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "CRUSTER_SEED")
	}
	t.Logf("CRUSTER_SEED=%d", seed)
	return seed
}

// Random is a source for one part of a test, so that none draws from another's.
func Random(t testing.TB, seed uint64, part string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(t.Name() + "/" + part))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
