package postgres

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cruster/cruster/abi"
)

// result collects the rows of a guest's statement.
type result struct {
	discard  bool // the caller wants to know only how many rows were changed
	columns  []string
	rows     [][]any
	affected int64
	err      error

	size int
}

// valueOverhead is counted for each value beside its bytes, so that a million empty ones do not pass for nothing.
const valueOverhead = 16

// read reads all rows. Beyond abi.MaxBody it calls cancel and lets the rest go by: the connection has to be read to the
// end to be of use again.
func (r *result) read(rows *pgconn.ResultReader, cancel func()) {
	fields := rows.FieldDescriptions()
	oids := make([]uint32, len(fields))
	r.columns = make([]string, len(fields))
	for i, f := range fields {
		r.columns[i], oids[i] = f.Name, f.DataTypeOID
	}
	for rows.NextRow() {
		if r.discard || r.err != nil {
			continue
		}
		row := make([]any, len(fields))
		for i, raw := range rows.Values() {
			row[i] = decodeValue(oids[i], raw)
			r.size += len(raw) + valueOverhead
		}
		if r.size > abi.MaxBody {
			r.rows, r.err = nil, errTooLarge()
			cancel()
			continue
		}
		r.rows = append(r.rows, row)
	}
	if tag, err := rows.Close(); err == nil && !tag.Select() {
		r.affected = tag.RowsAffected()
	}
}

func errTooLarge() error {
	return abi.Errorf(abi.CodeSQLResult, "the rows of the query have more than %d bytes", abi.MaxBody)
}

// tooWide tells whether a connection ended because of a row beyond all bounds.
func tooWide(err error) bool {
	var tooLong *pgproto3.ExceededMaxBodyLenErr
	return errors.As(err, &tooLong)
}

// decodeValue reads a value in its text form. Types without a counterpart in the guest's types (numeric, uuid, json,
// intervals, arrays, enums) stay text, and so do times that Go cannot hold, such as infinity.
func decodeValue(oid uint32, raw []byte) any {
	if raw == nil {
		return nil
	}
	s := string(raw)
	switch oid {
	case pgtype.BoolOID:
		return s == "t"
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
	case pgtype.Float4OID:
		if f, err := strconv.ParseFloat(s, 32); err == nil {
			return float64(float32(f))
		}
	case pgtype.Float8OID:
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	case pgtype.ByteaOID:
		if b, err := hex.DecodeString(strings.TrimPrefix(s, `\x`)); err == nil {
			return b
		}
	case pgtype.TimestamptzOID:
		return decodeTime("2006-01-02 15:04:05.999999999Z07", s)
	case pgtype.TimestampOID:
		return decodeTime("2006-01-02 15:04:05.999999999", s)
	case pgtype.DateOID:
		return decodeTime(time.DateOnly, s)
	}
	return s
}

func decodeTime(layout, s string) any {
	t, err := time.Parse(layout, s)
	if err != nil {
		return s
	}
	return t.UTC()
}
