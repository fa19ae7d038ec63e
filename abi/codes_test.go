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

// TestBlame walks the table: each predicate agrees with the column, wrapped or not, and the column with the
// area and the status of its code.
func TestBlame(t *testing.T) {
	t.Parallel()
	for _, info := range abi.Codes {
		for _, err := range []error{abi.Errorf(info.Code, "no"), fmt.Errorf("ask: %w", abi.Errorf(info.Code, "no"))} {
			require.Equal(t, info.Blame == abi.BlameMoment, abi.IsTransient(err), info.Code)
			require.Equal(t, info.Blame == abi.BlameHost, abi.IsHostFault(err), info.Code)
			require.Equal(t, info.Blame == abi.BlameGuest, abi.IsOfGuest(err), info.Code)
			require.Equal(t, info.Blame == abi.BlameHost || info.Blame == abi.BlameMoment, abi.IsOfHost(err), info.Code)
		}
		switch area := info.Code[len("CR-")]; area {
		case '4':
			require.Equal(t, abi.BlameGuest, info.Blame, "%s: the contract is broken by code", info.Code)
		case '5':
			require.GreaterOrEqual(t, info.Blame, abi.BlameHost, "%s: no caller can fix the host", info.Code)
		}
		switch info.Blame {
		case abi.BlameMoment:
			require.Contains(
				t, []abi.Category{abi.Unavailable, abi.ResourceExhausted, abi.DeadlineExceeded}, info.Category,
				info.Code,
			)
			require.Equal(
				t, info.Code != abi.CodeStoreGone, info.Retryable, "%s: it passes, if not for this host", info.Code,
			)
		case abi.BlameHost:
			require.NotContains(
				t, []abi.Category{abi.NotFound, abi.AlreadyExists, abi.Aborted}, info.Category, info.Code,
			)
		case abi.BlameCaller:
			require.NotEqual(t, abi.Internal, info.Category, info.Code)
		}
	}
	for code, blame := range map[abi.Code]abi.Blame{
		abi.CodeStore:            abi.BlameMoment,
		abi.CodeStoreFull:        abi.BlameMoment,
		abi.CodeOverloaded:       abi.BlameMoment,
		abi.CodeInboxFull:        abi.BlameMoment,
		abi.CodeMailboxFull:      abi.BlameMoment,
		abi.CodeNoShardGroup:     abi.BlameMoment,
		abi.CodeInternal:         abi.BlameHost,
		abi.CodeHostFault:        abi.BlameHost,
		abi.CodeGuestTrap:        abi.BlameGuest,
		abi.CodeModuleInit:       abi.BlameGuest,
		abi.CodeNondeterminism:   abi.BlameGuest,
		abi.CodeUnknownWorkflow:  abi.BlameCaller,
		abi.CodeModuleNotFound:   abi.BlameCaller,
		abi.CodeTooManySchedules: abi.BlameCaller,
		abi.CodeActivityFailed:   abi.BlameCaller,
		abi.CodeSQL:              abi.BlameCaller,
		"CR-9999":                abi.BlameCaller,
	} {
		require.Equal(t, blame, code.Info().Blame, code)
	}
	uncoded := fmt.Errorf("no connection")
	require.True(t, abi.IsTransient(uncoded) && abi.IsOfHost(uncoded), "the host's own")
	require.False(t, abi.IsHostFault(uncoded) || abi.IsOfGuest(uncoded))
	require.False(t, abi.IsTransient(nil) || abi.IsOfHost(nil) || abi.IsHostFault(nil) || abi.IsOfGuest(nil))
}
