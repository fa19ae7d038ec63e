package postgres

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/cruster/cruster/abi"
)

const (
	textFormat   int16 = 0
	binaryFormat int16 = 1
)

// encodeArgs writes the arguments of a statement the way its parameters want them. The server has told their types, so
// that "WHERE id = $1" takes an integer for an integer column and says clearly if it is a text column.
func encodeArgs(types []uint32, args []any) (values [][]byte, formats []int16, err error) {
	if len(args) != len(types) {
		return nil, nil, abi.Errorf(
			abi.CodeSQLArgument, "the statement has %d parameters, but %d arguments were given", len(types), len(args),
		)
	}
	for i, arg := range args {
		value, format, ok := encodeArg(types[i], arg)
		if !ok {
			return nil, nil, abi.Errorf(
				abi.CodeSQLArgument, "argument $%d is %s, but the statement wants %s there", i+1, typeOf(arg),
				typeName(types[i]),
			).
				WithHint("Pass a value that fits, or cast the parameter in the statement, as in $%d::bigint.", i+1)
		}
		values, formats = append(values, value), append(formats, format)
	}
	return values, formats, nil
}

// encodeArg writes one argument; not ok if its type does not fit.
func encodeArg(oid uint32, arg any) (value []byte, format int16, ok bool) {
	asText := func(s string) ([]byte, int16, bool) { return []byte(s), textFormat, true }
	switch v := arg.(type) {
	case nil:
		return nil, textFormat, true
	case bool:
		if oid == pgtype.BoolOID || isJSON(oid) {
			return asText(strconv.FormatBool(v))
		}
	case int64:
		if isNumeric(oid) && v >= minInt(oid) && (v < 0 || uint64(v) <= maxInt(oid)) || isJSON(oid) {
			return asText(strconv.FormatInt(v, 10))
		}
	case uint64:
		if isNumeric(oid) && v <= maxInt(oid) || isJSON(oid) {
			return asText(strconv.FormatUint(v, 10))
		}
	case float64:
		finite := !math.IsNaN(v) && !math.IsInf(v, 0)
		whole := finite && v == math.Trunc(v) && math.Abs(v) < 1<<53
		switch {
		case oid == pgtype.Float4OID, oid == pgtype.Float8OID, oid == pgtype.NumericOID, isJSON(oid) && finite:
			return asText(strconv.FormatFloat(v, 'g', -1, 64))
		case isNumeric(oid) && whole:
			return encodeArg(oid, int64(v))
		}
	case string:
		if !isText(v) {
			return nil, 0, false
		}
		if oid == pgtype.ByteaOID {
			return []byte(v), binaryFormat, true
		}
		return asText(v) // the server reads it as whatever it wants there
	case []byte:
		switch {
		case oid == pgtype.ByteaOID, oid == pgtype.UUIDOID && len(v) == 16:
			return notNil(v), binaryFormat, true
		case (isString(oid) || isJSON(oid)) && isText(string(v)):
			return notNil(v), textFormat, true
		}
	case time.Time:
		if year := v.UTC().Year(); year < 1 || year > 9999 {
			return nil, 0, false
		}
		switch oid {
		case pgtype.TimestamptzOID, pgtype.TimestampOID:
			return asText(v.UTC().Format("2006-01-02 15:04:05.999999999Z07:00"))
		case pgtype.DateOID:
			return asText(v.UTC().Format(time.DateOnly))
		case pgtype.TimeOID:
			return asText(v.UTC().Format("15:04:05.999999999"))
		}
	}
	return nil, 0, false
}

func isNumeric(oid uint32) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID,
		pgtype.OIDOID:
		return true
	}
	return false
}

// maxInt and minInt bound the integers that a numeric type can take.
func maxInt(oid uint32) uint64 {
	switch oid {
	case pgtype.Int2OID:
		return math.MaxInt16
	case pgtype.Int4OID:
		return math.MaxInt32
	case pgtype.Int8OID:
		return math.MaxInt64
	case pgtype.OIDOID:
		return math.MaxUint32
	}
	return math.MaxUint64
}

func minInt(oid uint32) int64 {
	switch oid {
	case pgtype.Int2OID:
		return math.MinInt16
	case pgtype.Int4OID:
		return math.MinInt32
	case pgtype.OIDOID:
		return 0
	}
	return math.MinInt64
}

func isString(oid uint32) bool {
	switch oid {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID:
		return true
	}
	return false
}

func isJSON(oid uint32) bool { return oid == pgtype.JSONOID || oid == pgtype.JSONBOID }

func typeOf(arg any) string {
	switch v := arg.(type) {
	case bool:
		return "a boolean"
	case int64, uint64:
		return fmt.Sprintf("the integer %d", v)
	case float64:
		return "a float"
	case string:
		if !isText(v) {
			return "a string that is not UTF-8 without zero bytes"
		}
		return "a string"
	case []byte:
		return "bytes"
	case time.Time:
		return "a time"
	}
	return "of a type that is not supported"
}

var typeNames = pgtype.NewMap()

func typeName(oid uint32) string {
	if t, ok := typeNames.TypeForOID(oid); ok {
		return t.Name
	}
	return "a type of the module's own"
}
