package postgres

import (
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestEncodeArg has the borders; TestGuestTypes sends values to a server.
func TestEncodeArg(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 2, 3, 4, 5, 6, 7000, time.UTC)
	for name, c := range map[string]struct {
		oid    uint32
		arg    any
		want   string
		format int16
	}{
		"smallest int2":   {pgtype.Int2OID, int64(math.MinInt16), "-32768", textFormat},
		"largest int4":    {pgtype.Int4OID, int64(math.MaxInt32), "2147483647", textFormat},
		"largest oid":     {pgtype.OIDOID, uint64(math.MaxUint32), "4294967295", textFormat},
		"whole float":     {pgtype.Int8OID, float64(1 << 52), "4503599627370496", textFormat},
		"float":           {pgtype.Float8OID, 0.1, "0.1", textFormat},
		"infinity":        {pgtype.Float8OID, math.Inf(-1), "-Inf", textFormat},
		"json":            {pgtype.JSONBOID, true, "true", textFormat},
		"text as bytea":   {pgtype.ByteaOID, "a", "a", binaryFormat},
		"bytes":           {pgtype.ByteaOID, []byte{0}, "\x00", binaryFormat},
		"bytes as text":   {pgtype.TextOID, []byte("a"), "a", textFormat},
		"uuid":            {pgtype.UUIDOID, []byte("0123456789abcdef"), "0123456789abcdef", binaryFormat},
		"time":            {pgtype.TimestamptzOID, at, "2031-02-03 04:05:06.000007Z", textFormat},
		"date":            {pgtype.DateOID, at, "2031-02-03", textFormat},
		"text for a date": {pgtype.DateOID, "tomorrow", "tomorrow", textFormat},
	} {
		value, format, ok := encodeArg(c.oid, c.arg)
		require.True(t, ok, name)
		require.Equal(t, c.want, string(value), name)
		require.Equal(t, c.format, format, name)
	}
	for name, c := range map[string]struct {
		oid uint32
		arg any
	}{
		"below int2":        {pgtype.Int2OID, int64(math.MinInt16 - 1)},
		"above int4":        {pgtype.Int4OID, int64(math.MaxInt32 + 1)},
		"above int8":        {pgtype.Int8OID, uint64(math.MaxInt64 + 1)},
		"negative oid":      {pgtype.OIDOID, int64(-1)},
		"fraction":          {pgtype.Int8OID, 1.5},
		"imprecise float":   {pgtype.Int8OID, float64(1 << 53)},
		"infinity in json":  {pgtype.JSONOID, math.Inf(1)},
		"integer as text":   {pgtype.TextOID, int64(1)},
		"boolean as number": {pgtype.Int4OID, true},
		"zero byte":         {pgtype.TextOID, "a\x00"},
		"bytes not in text": {pgtype.TextOID, []byte{0xff}},
		"short uuid":        {pgtype.UUIDOID, []byte("short")},
		"year 10000":        {pgtype.DateOID, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"unknown type":      {pgtype.TextOID, struct{}{}},
	} {
		_, _, ok := encodeArg(c.oid, c.arg)
		require.False(t, ok, name)
	}
}

func TestEncodeArgsSaysWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	_, _, err := encodeArgs([]uint32{pgtype.TextOID}, nil)
	require.Equal(t, abi.CodeSQLArgument, abi.CodeOf(err))
	require.ErrorContains(t, err, "1 parameters, but 0 arguments")
	_, _, err = encodeArgs([]uint32{pgtype.TextOID, pgtype.Int4OID}, []any{"a", "\xff"})
	require.ErrorContains(
		t, err, "argument $2 is a string that is not UTF-8 without zero bytes, but the statement wants int4 there",
	)
	values, formats, err := encodeArgs([]uint32{pgtype.TextOID, pgtype.Int4OID}, []any{nil, int64(1)})
	require.NoError(t, err)
	require.Equal(t, [][]byte{nil, []byte("1")}, values)
	require.Equal(t, []int16{textFormat, textFormat}, formats)
}
