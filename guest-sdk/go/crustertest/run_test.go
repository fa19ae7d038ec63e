package crustertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

func TestBadRequests(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, keyed, "")
	require.Equal(t, string(abi.CodeBadKey), cruster.ErrorCode(err))
}

var keyed = cruster.NewWorkflow("keyed", func(cruster.Context, string) (int, error) { return 0, nil },
	cruster.RawKey(func(s string) string { return s }))
