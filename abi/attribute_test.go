package abi_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestAttributeOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.January, 1, 0, 0, 0, 1000, time.UTC)
	for _, c := range []struct {
		value any
		want  abi.Attribute
	}{
		{"ada", abi.Attribute{Type: abi.AttributeText, Text: "ada"}},
		{"", abi.Attribute{Type: abi.AttributeText}},
		{
			strings.Repeat("x", abi.MaxAttribute),
			abi.Attribute{Type: abi.AttributeText, Text: strings.Repeat("x", abi.MaxAttribute)},
		},
		{-7, abi.Attribute{Type: abi.AttributeNumber, Number: -7}},
		{300, abi.Attribute{Type: abi.AttributeNumber, Number: 300}},
		{uint64(1 << 40), abi.Attribute{Type: abi.AttributeNumber, Number: 1 << 40}},
		{1.5, abi.Attribute{Type: abi.AttributeNumber, Number: 1.5}},
		{float32(1.5), abi.Attribute{Type: abi.AttributeNumber, Number: 1.5}},
		{true, abi.Attribute{Type: abi.AttributeBool, Number: 1}},
		{false, abi.Attribute{Type: abi.AttributeBool}},
		{at, abi.Attribute{Type: abi.AttributeTime, Number: float64(at.UnixMicro())}},
	} {
		got, err := abi.AttributeOf(bin(c.value))
		require.Nil(t, err, "%v", c.value)
		require.Equal(t, c.want, got)
	}
	for name, value := range map[string][]byte{
		"nil":          abi.Nil,
		"nothing":      {},
		"two values":   {1, 2},
		"half a value": {0xa3, 'a'},
		"a list":       {0x90},
		"bytes":        bin([]byte("ada")),
		"a map":        {0x80},
		"not a number": bin(math.NaN()),
		"no end":       bin(math.Inf(-1)),
		"a long text":  bin(strings.Repeat("x", abi.MaxAttribute+1)),
		"control":      bin("a\nb"),
		"not UTF-8":    bin("\xff"),
		"very long":    make([]byte, 1<<20),
	} {
		_, err := abi.AttributeOf(value)
		require.NotNil(t, err, name)
		require.Equal(t, abi.CodeBadAttribute, err.Code, name)
	}
	_, refused := abi.DecodeOp(
		abi.OpPublish, bin(abi.Publish{Attributes: []abi.Published{{Name: "a", Value: []byte{0x90}}}}),
	)
	require.Equal(t, abi.CodeBadAttribute, refused.Code)
	_, refused = abi.DecodeOp(
		abi.OpPublish,
		bin(abi.Publish{State: []abi.Published{{Name: "a", Value: bin(make([]byte, abi.MaxPublishedBytes))}}}),
	)
	require.Equal(t, abi.CodePayloadTooLarge, refused.Code)
}

func FuzzAttributeOf(f *testing.F) {
	for _, s := range samples() {
		f.Add(abi.MustMarshal(s.value))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := abi.AttributeOf(data)
		if err != nil {
			require.Equal(t, abi.CodeBadAttribute, err.Code)
			return
		}
		require.False(t, math.IsNaN(a.Number) || math.IsInf(a.Number, 0))
		require.LessOrEqual(t, len(a.Text), abi.MaxAttribute)
	})
}
