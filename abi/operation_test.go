package abi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestOperationInput(t *testing.T) {
	t.Parallel()
	deposit := abi.OperationInfo{Name: "deposit", Input: &abi.Schema{Type: abi.TypeInt}}
	input, err := deposit.CheckInput([]byte{0xcd, 0, 5}) // 5, not in its shortest form
	require.NoError(t, err)
	require.Equal(t, []byte{5}, input)
	for name, bad := range map[string][]byte{
		"a string": {0xa1, 'x'}, "nothing": nil, "no msgpack": {0xc1}, "two values": {1, 2},
	} {
		_, err := deposit.CheckInput(bad)
		require.Equal(t, abi.CodeOperationInput, abi.CodeOf(err), name)
		require.ErrorContains(t, err, `"deposit"`, name)
	}
	_, err = deposit.CheckInput(make([]byte, abi.MaxPayload+1))
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(err))
	anything := abi.OperationInfo{Name: "anything"}
	input, err = anything.CheckInput(nil)
	require.NoError(t, err)
	require.Equal(t, abi.Nil, input)
	nothing := abi.OperationInfo{Name: "nothing", Input: &abi.Schema{Type: abi.TypeStruct}}
	for _, given := range [][]byte{nil, abi.Nil, {0x80}} {
		input, err = nothing.CheckInput(given)
		require.NoError(t, err)
		require.Equal(t, []byte{0x80}, input)
	}
}
