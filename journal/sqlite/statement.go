package sqlite

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal/sqlite/guestsql"
)

// prepareGuest compiles exactly one statement of a module, with the stored names; the sandbox has been entered.
func (s *Store) prepareGuest(query string) (*sqlite.Stmt, error) {
	if err := guestsql.CheckActivity(query); err != nil {
		return nil, err
	}
	stmt, trailing, err := s.writer.PrepareTransient(query)
	if err != nil {
		return nil, s.guestError(err)
	}
	if rest := guestsql.SkipBlank(query[len(query)-trailing:], true); rest != "" {
		_ = stmt.Finalize()
		return nil, abi.Errorf(abi.CodeSQLForbidden, "a call runs one statement; there is more behind the first")
	}
	if err := s.sandbox.Bound(query[:len(query)-trailing]); err != nil {
		_ = stmt.Finalize()
		return nil, s.guestError(err)
	}
	return stmt, nil
}

// guestError explains SQLite's refusal of a module's statement.
func (s *Store) guestError(err error) error {
	if err == nil {
		return nil
	}
	if refusal := s.sandbox.Refusal(); refusal != nil {
		return refusal
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultAuth:
		return abi.Errorf(abi.CodeSQLForbidden, "%s", s.message(err))
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return classify(err)
	case sqlite.ResultIOErr, sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultCantOpen, sqlite.ResultFull:
		// Not the statement's fault.
		return fmt.Errorf("sqlite: statement of a module: %w", err)
	case sqlite.ResultTooBig:
		if longest, reduced := s.sandbox.Longest(); reduced {
			return abi.Errorf(
				abi.CodeSQL, "%s: in a statement that does so much with them, values and rows may have %d bytes",
				s.message(err), longest,
			).
				WithHint("Call fewer functions in one statement, or insert fewer rows with it.")
		}
	}
	return abi.Errorf(abi.CodeSQL, "%s", s.message(err))
}

// message is SQLite's message about a module's statement.
func (s *Store) message(err error) string {
	message := sqliteMessage(err)
	if offset, known := sqlite.ErrorOffset(err); known && located.MatchString(message) {
		line, column := s.sandbox.At(offset)
		message = located.ReplaceAllString(message, fmt.Sprintf("%d:%d: ", line, column))
	}
	return s.sandbox.Called(message)
}

// located matches the handle's position of an error in its input.
var located = regexp.MustCompile(`^\d+:\d+: `)

func sqliteMessage(err error) string {
	message := err.Error()
	for _, prefix := range []string{"sqlite: ", "step: ", "prepare: ", "reset: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	return message
}

// bindArgs binds the arguments to $1, $2, … SQLite numbers such parameters in the order in which they appear, so they
// are told by their names. ?1 and a plain ? work as well.
func bindArgs(stmt *sqlite.Stmt, args []any) error {
	highest := 0
	for param := 1; param <= stmt.BindParamCount(); param++ {
		number, name := param, stmt.BindParamName(param)
		if name != "" {
			n, err := strconv.Atoi(name[1:])
			if err != nil || (name[0] != '$' && name[0] != '?') {
				return abi.Errorf(abi.CodeSQLArgument, "the parameter %s is not of the form $1", name)
			}
			number = n
		}
		if number < 1 || number > len(args) {
			return abi.Errorf(
				abi.CodeSQLArgument, "the statement has a parameter $%d, but there are %d arguments", number, len(args),
			)
		}
		highest = max(highest, number)
		if err := bindArg(stmt, param, number, args[number-1]); err != nil {
			return err
		}
	}
	if highest < len(args) {
		return abi.Errorf(
			abi.CodeSQLArgument, "there are %d arguments, but the statement has parameters up to $%d only", len(args),
			highest,
		)
	}
	return nil
}

// timeFormat is RFC 3339 in UTC with all nine digits of the fraction, so that the order of the texts is the order of
// the times.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

func bindArg(stmt *sqlite.Stmt, param, number int, arg any) error {
	switch v := arg.(type) {
	case nil:
		stmt.BindNull(param)
	case bool:
		stmt.BindBool(param, v)
	case int64:
		stmt.BindInt64(param, v)
	case uint64:
		if v > math.MaxInt64 {
			return abi.Errorf(abi.CodeSQLArgument, "argument $%d is %d, more than SQLite's integers hold", number, v)
		}
		stmt.BindInt64(param, int64(v))
	case float64:
		if math.IsNaN(v) {
			return abi.Errorf(abi.CodeSQLArgument, "argument $%d is not a number, which SQLite cannot keep", number)
		}
		stmt.BindFloat(param, v)
	case string:
		stmt.BindText(param, v)
	case []byte:
		stmt.BindBytes(param, v)
	case time.Time:
		if year := v.UTC().Year(); year < 0 || year > 9999 {
			return abi.Errorf(abi.CodeSQLArgument, "argument $%d is a time in the year %d", number, year)
		}
		stmt.BindText(param, v.UTC().Format(timeFormat))
	default:
		return abi.Errorf(abi.CodeSQLArgument, "argument $%d is a %T", number, arg)
	}
	return nil
}

// columnValue reads a value and tells about how many bytes it has on the wire. Text that is not UTF-8 is handed out as
// bytes: no encoding of strings could carry it.
func columnValue(stmt *sqlite.Stmt, col int) (v any, size int) {
	switch stmt.ColumnType(col) {
	case sqlite.TypeInteger:
		return stmt.ColumnInt64(col), 9
	case sqlite.TypeFloat:
		return stmt.ColumnFloat(col), 9
	case sqlite.TypeText:
		text := stmt.ColumnText(col)
		if !utf8.ValidString(text) {
			return []byte(text), len(text) + 5
		}
		return text, len(text) + 5
	case sqlite.TypeBlob:
		b := blob(stmt, col)
		return b, len(b) + 5
	}
	return nil, 1
}
