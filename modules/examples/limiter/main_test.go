package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	limiters := crustertest.NewEntities(t)
	_, err := crustertest.Call(limiters, Configure, "ada", Limit{Capacity: 3, EveryMS: 3_600_000})
	require.NoError(t, err)
	take := func(n int64) Decision {
		t.Helper()
		d, err := crustertest.Call(limiters, Take, "ada", n)
		require.NoError(t, err)
		return d
	}
	require.Equal(t, Decision{Allowed: true, Left: 1}, take(2))
	refused := take(2)
	require.False(t, refused.Allowed)
	require.Equal(t, int64(1), refused.Left, "all or none")
	require.Positive(t, refused.RetryAfterMS)
	require.LessOrEqual(t, refused.RetryAfterMS, int64(3_600_000))
	require.Equal(t, Decision{Allowed: true}, take(1))

	other, err := crustertest.Call(limiters, Take, "bob", int64(10))
	require.NoError(t, err)
	require.True(t, other.Allowed, "another client has permits of its own, ten if it was not told otherwise")

	_, err = crustertest.Call(limiters, Take, "ada", int64(4))
	require.Equal(t, "invalid_number", cruster.ErrorType(err))
	_, err = crustertest.Call(limiters, Configure, "ada", Limit{})
	require.Equal(t, "invalid_limit", cruster.ErrorType(err))
}

func TestPermitsComeBack(t *testing.T) {
	t.Parallel()
	b := Bucket{Capacity: 3, EveryMS: 100, Taken: 3, UpdatedMS: 1000}
	b.refill(1250)
	require.Equal(
		t, Bucket{Capacity: 3, EveryMS: 100, Taken: 1, UpdatedMS: 1200}, b,
		"two of them, and half the way to the third",
	)
	b.refill(1299)
	require.Equal(t, int64(1), b.Taken)
	b.refill(1300)
	require.Equal(t, int64(0), b.Taken)
	b.refill(9999)
	require.Equal(t, int64(0), b.Taken, "there are never more than the capacity")
}
