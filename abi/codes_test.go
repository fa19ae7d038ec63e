package abi_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// declaredCodes reads the constants of type Code out of the source.
func declaredCodes(t *testing.T) map[abi.Code]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	require.NoError(t, err)
	codes := map[abi.Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != "Code" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		require.NotContains(t, codes, abi.Code(value), "%s has the code of another constant", spec.Names[0].Name)
		codes[abi.Code(value)] = spec.Names[0].Name
		return true
	})
	return codes
}

func TestCodesTable(t *testing.T) {
	t.Parallel()
	declared := declaredCodes(t)
	require.Greater(t, len(declared), 50)
	form := regexp.MustCompile(`^CR-[1-6]\d{3}$`)
	listed := map[abi.Code]bool{}
	previous := abi.Code("")
	for _, info := range abi.Codes {
		name := fmt.Sprintf("%s (%s)", info.Code, declared[info.Code])
		require.Regexp(t, form, string(info.Code), name)
		require.Contains(t, declared, info.Code)
		require.Greater(t, info.Code, previous, "%s: the table is sorted and holds a code once", name)
		require.NotEmpty(t, info.Title, name)
		require.False(t, strings.HasSuffix(info.Title, "."), "%s: a title ends without a period", name)
		require.True(t, strings.HasSuffix(info.Hint, "."), "%s: a hint ends with a period", name)
		require.GreaterOrEqual(t, info.Category, abi.Internal, name)
		require.LessOrEqual(t, info.Category, abi.Aborted, name)
		require.Equal(t, info, info.Code.Info(), name)
		listed[info.Code], previous = true, info.Code
	}
	for code, name := range declared {
		require.True(t, listed[code], "%s (%s) is missing from the table", name, code)
	}
	require.Equal(t, abi.Internal, abi.Code("CR-9999").Info().Category)
}

// TestTransient: what passes is the host's trouble, its store's or the receiver's. Nothing that a
// request or a module is to blame for passes.
func TestTransient(t *testing.T) {
	t.Parallel()
	for _, info := range abi.Codes {
		err := fmt.Errorf("ask: %w", abi.Errorf(info.Code, "no"))
		require.Equal(t, info.Transient, abi.IsTransient(err), info.Code)
		if info.Transient {
			require.Contains(t, []abi.Category{abi.Unavailable, abi.ResourceExhausted, abi.DeadlineExceeded, abi.Internal}, info.Category, info.Code)
			require.False(t, strings.HasPrefix(string(info.Code), "CR-3") || strings.HasPrefix(string(info.Code), "CR-4"), info.Code)
		}
	}
	for _, code := range []abi.Code{abi.CodeStore, abi.CodeStoreFull, abi.CodeOverloaded, abi.CodeInboxFull, abi.CodeMailboxFull} {
		require.True(t, abi.IsTransient(abi.Errorf(code, "no")), code)
	}
	for _, code := range []abi.Code{abi.CodeUnknownWorkflow, abi.CodeModuleNotFound, abi.CodeGuestTrap, abi.CodeTooManySchedules, "CR-9999"} {
		require.False(t, abi.IsTransient(abi.Errorf(code, "no")), code)
	}
	require.True(t, abi.IsTransient(fmt.Errorf("no connection")), "the host's own")
	require.False(t, abi.IsTransient(nil))
}
