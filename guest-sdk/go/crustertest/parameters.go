package crustertest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
)

// timeFormat is how a host writes times into SQLite: the texts sort as the times do.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// forSQLite is a statement with parameters that all drivers of SQLite know, and its arguments: ?1
// instead of $1, which is a parameter with a name there. Texts, comments and quoted names stay as
// they are. It refuses the same statements as a host.
func forSQLite(query string, args []any) (string, []any, error) {
	var out strings.Builder
	numbered, highest := 0, 0
	for query != "" {
		n := token(query)
		text := query[:n]
		query = query[n:]
		number, isParameter, err := parameter(text)
		switch {
		case err != nil:
			return "", nil, err
		case !isParameter:
			out.WriteString(text)
			continue
		case number == 0: // a plain ?
			number = numbered + 1
		}
		numbered = max(numbered, number)
		if number > len(args) {
			return "", nil, abi.Errorf(
				abi.CodeSQLArgument, "the statement has a parameter $%d, but there are %d arguments", number, len(args),
			)
		}
		highest = max(highest, number)
		fmt.Fprintf(&out, "?%d", number)
	}
	if highest < len(args) {
		return "", nil, abi.Errorf(
			abi.CodeSQLArgument, "there are %d arguments, but the statement has parameters up to $%d only", len(args),
			highest,
		)
	}
	bound, err := sqliteValues(args)
	return out.String(), bound, err
}

// parameter is the number of a parameter; zero if it has none.
func parameter(text string) (number int, isParameter bool, err error) {
	if text == "?" {
		return 0, true, nil
	}
	if len(text) < 2 || !strings.ContainsRune("$?:@", rune(text[0])) || !isWord(text[1]) ||
		dollarQuote.MatchString(text) {
		return 0, false, nil
	}
	number, bad := strconv.Atoi(text[1:])
	if bad != nil || number < 1 || text[0] == ':' || text[0] == '@' {
		return 0, false, abi.Errorf(abi.CodeSQLArgument, "the parameter %s is not of the form $1", text)
	}
	return number, true, nil
}

// sqliteValues are arguments as SQLite keeps them.
func sqliteValues(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case uint64:
			if v > math.MaxInt64 {
				return nil, abi.Errorf(
					abi.CodeSQLArgument, "argument $%d is %d, more than SQLite's integers hold", i+1, v,
				)
			}
			out[i] = int64(v)
		case float64:
			if math.IsNaN(v) {
				return nil, abi.Errorf(
					abi.CodeSQLArgument, "argument $%d is not a number, which SQLite cannot keep", i+1,
				)
			}
			out[i] = v
		case time.Time:
			if year := v.UTC().Year(); year < 0 || year > 9999 {
				return nil, abi.Errorf(abi.CodeSQLArgument, "argument $%d is a time in the year %d", i+1, year)
			}
			out[i] = v.UTC().Format(timeFormat)
		default:
			out[i] = v
		}
	}
	return out, nil
}
