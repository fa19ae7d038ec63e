package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

func TestDecodeValue(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	for _, c := range []struct {
		oid  uint32
		text string
		want any
	}{
		{pgtype.BoolOID, "t", true},
		{pgtype.BoolOID, "f", false},
		{pgtype.Int8OID, "-9223372036854775808", int64(-1 << 63)},
		{pgtype.Float4OID, "0.1", float64(float32(0.1))},
		{pgtype.Float8OID, "0.1", 0.1},
		{pgtype.NumericOID, "1.50", "1.50"},
		{pgtype.ByteaOID, `\x00ff`, []byte{0, 0xff}},
		{pgtype.TimestamptzOID, "2031-02-03 04:05:06.789+00", at},
		{pgtype.TimestampOID, "2031-02-03 04:05:06.789", at},
		{pgtype.TimestampOID, "infinity", "infinity"},
		{pgtype.DateOID, "2031-02-03", at.Truncate(24 * time.Hour)},
		{pgtype.DateOID, "0044-03-15 BC", "0044-03-15 BC"},
		{pgtype.TextOID, "", ""},
	} {
		require.Equal(t, c.want, decodeValue(c.oid, []byte(c.text)), c.text)
	}
	require.Nil(t, decodeValue(pgtype.TextOID, nil))
}
