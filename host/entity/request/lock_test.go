package request

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/target"
)

// Whatever order the code of a run names entities in, they are locked in the same one.
func TestInLockOrder(t *testing.T) {
	var named []target.Ref
	for i := range 50 {
		named = append(named,
			target.Ref{Namespace: "default", Type: "bank/Account", Key: strconv.Itoa(i)},
			target.Ref{Namespace: "default", Type: "bank/Vault", Key: strconv.Itoa(i)},
		)
	}
	want, err := inLockOrder(named)
	require.NoError(t, err)
	require.ElementsMatch(t, named, want)
	for range 20 {
		shuffled := slices.Clone(named)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		before := slices.Clone(shuffled)
		got, err := inLockOrder(shuffled)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, before, shuffled, "the caller's own are left as they are")
	}
}

func TestInLockOrderTwice(t *testing.T) {
	a, b := target.Ref{
		Namespace: "default", Type: "bank/Account", Key: "a",
	}, target.Ref{Namespace: "default", Type: "bank/Account", Key: "b"}
	_, err := inLockOrder([]target.Ref{a, b, a})
	require.Equal(t, abi.CodeCannotLock, abi.CodeOf(err))
	require.ErrorContains(t, err, a.String()+" is to be locked twice")
}
