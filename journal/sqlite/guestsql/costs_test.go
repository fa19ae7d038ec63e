package guestsql

import (
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// TestEveryFunctionIsJudged fails when a version of SQLite brings a function that is neither allowed nor refused, and
// when it has lost one.
func TestEveryFunctionIsJudged(t *testing.T) {
	t.Parallel()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	stmt, _, err := conn.PrepareTransient("SELECT DISTINCT name FROM pragma_function_list")
	require.NoError(t, err)
	defer func() { require.NoError(t, stmt.Finalize()) }()
	exists := map[string]bool{}
	for {
		more, err := stmt.Step()
		require.NoError(t, err)
		if !more {
			break
		}
		name := stmt.ColumnText(0)
		exists[name] = true
		_, isAllowed := allowed[name]
		_, isRefused := refused[name]
		require.NotEqual(t, isAllowed, isRefused, "%s: allowed is %t, refused is %t", name, isAllowed, isRefused)
	}
	for name := range allowed {
		require.True(t, exists[name], "%s is allowed, and does not exist", name)
	}
	for name := range refused {
		require.True(t, exists[name], "%s is refused, and does not exist", name)
	}
}

func TestFunctionName(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkBinding())
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	var names []string
	require.NoError(t, conn.SetAuthorizer(sqlite.AuthorizeFunc(func(action sqlite.Action) sqlite.AuthResult {
		if action.Type() == sqlite.OpFunction {
			names = append(names, functionName(action))
		}
		return sqlite.AuthResultOK
	})))
	stmt, _, err := conn.PrepareTransient("SELECT Upper('a'), 'a' LIKE 'b', '{}' -> 'x', CURRENT_DATE, count(*)")
	require.NoError(t, err)
	require.NoError(t, stmt.Finalize())
	require.Equal(t, []string{"upper", "like", "->", "current_date", "count"}, names)
}
