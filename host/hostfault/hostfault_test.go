package hostfault_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/hostfault"
)

func TestTry(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	require.NoError(t, hostfault.Try(func() error { return nil }))
	require.Equal(t, failure, hostfault.Try(func() error { return failure }))
	err := hostfault.Try(func() error { panic(strings.Repeat("x", 1000)) })
	var f *hostfault.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, "panic: "+strings.Repeat("x", 300), f.What)
	require.Contains(t, string(f.Stack), "TestTry")
	require.Nil(t, hostfault.Guard(func() {}))
}
