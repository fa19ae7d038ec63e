package faultpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/faultpoint"
)

// TestPointsListsEveryConstant compares the list with the constants of the source: a point that is missing from the
// list would never be tested.
func TestPointsListsEveryConstant(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "faultpoint.go", nil, 0)
	require.NoError(t, err)
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		decl, ok := n.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			return true
		}
		for _, spec := range decl.Specs {
			for _, v := range spec.(*ast.ValueSpec).Values {
				name, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				require.NoError(t, err)
				declared = append(declared, name)
			}
		}
		return true
	})
	require.NotEmpty(t, declared)
	require.ElementsMatch(t, declared, faultpoint.Points)
}

func TestInjector(t *testing.T) {
	t.Parallel()
	var none faultpoint.Injector
	require.NotPanics(t, func() { none.Pass(faultpoint.Replay) })
	var passed []string
	faultpoint.Injector(func(point string) { passed = append(passed, point) }).Pass(faultpoint.Evict)
	require.Equal(t, []string{faultpoint.Evict}, passed)
}
