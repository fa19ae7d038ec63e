package conformance

import (
	"math"
	"time"

	"github.com/cruster/cruster/abi"
)

func sqlCases() []testCase {
	value := func(v any) object { return object{"value": v} }
	code := func(c abi.Code) object { return object{"code": string(c)} }
	row := object{"b": true, "i": int64(math.MaxInt64), "f": 0.1, "s": "Grüße 'quoted'", "y": []byte{0, 255}, "t": time.Unix(1_700_000_000, 123_456_000).UTC(), "n": nil}
	return []testCase{
		{
			name: "count", workflow: "Count", input: object{"name": "plain"}, want: []object{value(1), value(2), value(2)},
			journal: []string{"activity count", "activity count", "activity readCount"},
		},
		{
			name: "count with keys", workflow: "CountKeyed", input: object{"name": "keyed"}, want: []int{1, 2},
			journal: []string{"activity count key a", "activity count key b"},
		},
		{name: "count in parallel", workflow: "CountMany", input: object{"Name": "parallel", "N": 10}, want: 10, chancy: true},
		{
			name: "a failed activity leaves nothing", workflow: "Count", input: object{"name": "failing", "then": "fail"},
			want: []object{failedAfterSQL(4), failedAfterSQL(4), value(0)},
		},
		{
			name: "a failed attempt leaves nothing", workflow: "Count", input: object{"name": "failing once", "then": "fail once"},
			want: []object{value(1), value(2), value(2)},
		},
		{
			name: "a crashed attempt leaves nothing", workflow: "Count", input: object{"name": "panicking once", "then": "panic once"},
			want: []object{value(1), value(2), value(2)},
		},
		{
			name: "an activity cannot commit", workflow: "Count", input: object{"name": "committing", "then": "commit"},
			want: []object{code(abi.CodeSQLForbidden), code(abi.CodeSQLForbidden), value(0)},
		},
		{
			name: "no HTTP in a transaction", workflow: "Count", input: object{"name": "calling", "then": "http"},
			want: []object{code(abi.CodeHTTPInTx), code(abi.CodeHTTPInTx), value(0)},
		},
		{
			name: "SQL errors are handled in the activity", workflow: "Count", input: object{"name": "handling", "then": "handle an error"},
			want: []object{value(1), value(2), value(2)},
		},
		{name: "SQL of all kinds", workflow: "SQLKinds", input: row, want: []object{row}},
		{
			name: "wrong SQL", workflow: "SQLWrong",
			input: []string{
				"", "nonsense", "SELECT * FROM no_such_table", "INSERT INTO counters (name, n) VALUES ('x', 1000)",
				"SELECT 1; SELECT 2", "ROLLBACK", "SELECT 1",
			},
			want: []string{"CR-3102", "CR-3102", "CR-3101", "CR-3101", "CR-3102", "CR-3102", ""},
		},
	}
}

func failedAfterSQL(attempt int) object {
	return object{"code": "CR-3001", "type": "after_sql", "text": "CR-3001: attempt " + string(rune('0'+attempt)) + " failed after its statement"}
}

func outsideCases(url string) []testCase {
	code := func(c abi.Code) object { return object{"code": string(c)} }
	return []testCase{
		{name: "HTTP granted", workflow: "Fetch", input: url + "/ping", want: object{"value": "POST pong"}},
		{
			name: "HTTP answered badly", workflow: "Fetch", input: url + "/missing",
			want: object{"code": "CR-3001", "type": "http_status", "text": "CR-3001: the answer has status 404: not here"},
		},
		{name: "HTTP to another port", workflow: "Fetch", input: "http://127.0.0.1:1/", want: code(abi.CodeHTTPForbidden)},
		{name: "HTTP to another host", workflow: "Fetch", input: "http://example.com/", want: code(abi.CodeHTTPForbidden)},
		{name: "HTTP to the metadata service", workflow: "Fetch", input: "http://169.254.169.254/latest/", want: code(abi.CodeHTTPForbidden)},
		{name: "HTTP to nonsense", workflow: "Fetch", input: "gopher://x", want: code(abi.CodeHTTPBadRequest)},
		{
			name: "configuration", workflow: "Settings", input: []string{"greeting", "empty", "missing", ""},
			want: []any{[]any{true, "hello"}, []any{true, ""}, []any{false, ""}, []any{false, ""}},
		},
	}
}
