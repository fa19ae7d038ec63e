package binary

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSkipImmediates has an instruction of each form of operands; each must be skipped to its last byte.
func TestSkipImmediates(t *testing.T) {
	t.Parallel()
	for name, instruction := range map[string][]byte{
		"nop":                 {0x01},
		"drop":                {0x1a},
		"select t":            {0x1c, 1, 0x7f},
		"local.get":           {0x20, 0x80, 0x01},
		"table.get":           {0x25, 0},
		"i32.load":            {0x28, 2, 0x80, 0x01},
		"memory.size":         {0x3f, 0},
		"i32.const":           {0x41, 0xff, 0x00},
		"i64.const":           {0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
		"f32.const":           {0x43, 1, 2, 3, 4},
		"f64.const":           {0x44, 1, 2, 3, 4, 5, 6, 7, 8},
		"i32.add":             {0x6a},
		"i64.extend32_s":      {0xc4},
		"ref.null":            {0xd0, 0x70},
		"ref.is_null":         {0xd1},
		"ref.func":            {0xd2, 5},
		"i32.trunc_sat_f32_s": {0xfc, 0},
		"memory.init":         {0xfc, 8, 1, 0},
		"data.drop":           {0xfc, 9, 1},
		"table.size":          {0xfc, 16, 0},
		"v128.load":           {0xfd, 0, 4, 0},
		"v128.const":          {0xfd, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		"i8x16.extract_lane":  {0xfd, 21, 3},
		"v128.load8_lane":     {0xfd, 84, 0, 0, 3},
		"v128.load32_zero":    {0xfd, 92, 2, 0},
		"i32x4.add":           {0xfd, 0xae, 0x01},
	} {
		r := &reader{data: instruction}
		require.True(t, r.skipImmediates(r.byte()), name)
		r.end()
		require.NoError(t, r.err, name)
	}
	for name, instruction := range map[string][]byte{
		"reserved":         {0x06},
		"return_call":      {0x12, 0},
		"unknown misc":     {0xfc, 18},
		"unknown vector":   {0xfd, 0x80, 0x02},
		"atomic, prefixed": {0xfe, 0},
	} {
		r := &reader{data: instruction}
		require.False(t, r.skipImmediates(r.byte()), name)
	}
}
