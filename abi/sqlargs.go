package abi

import (
	"fmt"
	"time"
)

// MaxSQLArgs is how many arguments a statement may have: the limit of both databases.
const MaxSQLArgs = 32_766

// DecodeSQLArgs turns the msgpack array of a statement's arguments into values of the types that
// stores take.
func DecodeSQLArgs(encoded []byte) ([]any, *Error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	var raw []any
	if err := DecodeBody(encoded, &raw); err != nil {
		return nil, Errorf(CodeSQLArgument, "the arguments are not a msgpack array: %v", err)
	}
	if len(raw) > MaxSQLArgs {
		return nil, Errorf(CodeSQLArgument, "%d arguments are too many; %d is the limit", len(raw), MaxSQLArgs)
	}
	for i, v := range raw {
		norm, err := sqlArg(v)
		if err != nil {
			return nil, Errorf(CodeSQLArgument, "argument $%d: %v", i+1, err)
		}
		raw[i] = norm
	}
	return raw, nil
}

func sqlArg(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, uint64, float64, string, []byte, time.Time:
		return v, nil
	case int8:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint8:
		return int64(v), nil
	case uint16:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case *time.Time:
		return *v, nil
	default:
		return nil, fmt.Errorf("a %T is not a SQL value", v)
	}
}
