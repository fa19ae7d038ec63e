package abi_test

import (
	"strings"
	"testing"
	"time"

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

// A value that does not decode is explained by the types of values, not by the bytes of msgpack.
func TestUnmarshalOfAnotherType(t *testing.T) {
	t.Parallel()
	var text string
	var number int
	var whole uint
	var ratio float64
	var yes bool
	var list []int
	var words map[string]string
	var order struct{ ID string }
	var at time.Time
	one := map[string]any{"a": 1}
	for _, tc := range []struct {
		value, into any
		want        string
	}{
		{one, &text, "decode *string: expected string, got map"},
		{order, &text, "decode *string: expected string, got map"},
		{[]int{1}, &text, "decode *string: expected string, got list"},
		{7, &text, "decode *string: expected string, got int"},
		{-7, &text, "decode *string: expected string, got int"},
		{1 << 40, &text, "decode *string: expected string, got int"},
		{1.5, &text, "decode *string: expected string, got float"},
		{true, &text, "decode *string: expected string, got bool"},
		{"x", &number, "decode *int: expected int, got string"},
		{strings.Repeat("x", 1000), &number, "decode *int: expected int, got string"},
		{[]byte("x"), &number, "decode *int: expected int, got bytes"},
		{"x", &whole, "decode *uint: expected int, got string"},
		{"x", &ratio, "decode *float64: expected float, got string"},
		{"x", &yes, "decode *bool: expected bool, got string"},
		{"x", &list, "decode *[]int: expected list, got string"},
		{make([]int, 1000), &number, "decode *int: expected int, got list"},
		{"x", &words, "decode *map[string]string: expected struct or map, got string"},
		{"x", &order, "decode *struct { ID string }: expected struct or map, got string"},
		{map[string]any{"ID": 5}, &order, "decode *struct { ID string }: expected string, got int"},
	} {
		err := abi.Unmarshal(abi.MustMarshal(tc.value), tc.into)
		require.EqualError(t, err, tc.want)
	}
	require.NotContains(t, abi.Unmarshal(abi.MustMarshal("x"), &at).Error(), "code=")
}
