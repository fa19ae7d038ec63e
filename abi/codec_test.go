package abi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestMarshalUsesTags(t *testing.T) {
	t.Parallel()
	type tagged struct {
		Wire  string `msgpack:"b" json:"ignored"`
		JSON  int64  `json:"a"`
		Plain bool
	}
	packed, err := abi.Marshal(tagged{Wire: "x", JSON: 200, Plain: true})
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, abi.Unmarshal(packed, &fields))
	require.Equal(t, map[string]any{"b": "x", "a": uint8(200), "Plain": true}, fields)

	var back tagged
	require.NoError(t, abi.Unmarshal(packed, &back))
	require.Equal(t, tagged{Wire: "x", JSON: 200, Plain: true}, back)
}

func TestMarshalRefuses(t *testing.T) {
	t.Parallel()
	_, err := abi.Marshal(make(chan int))
	require.ErrorContains(t, err, "encode chan int")
	require.Panics(t, func() { abi.MustMarshal(make(chan int)) })
}

func TestUnmarshalRefusesBytesAfterTheValue(t *testing.T) {
	t.Parallel()
	var n int
	require.ErrorContains(t, abi.Unmarshal([]byte{0x01, 0xc0, 0xc0}, &n), "decode *int: 2 bytes after the value")
	require.Error(t, abi.Unmarshal(nil, &n))
}
