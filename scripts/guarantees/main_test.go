package main

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tree := fstest.MapFS{
		"host/a_test.go": file(
			"package host\n\nfunc TestA(t *testing.T) { stop(\"left\") }\n\nfunc TestRuns(t *testing.T) {}\n",
		),
		"host/testdata/runs/move_one":  file(""),
		"host/testdata/runs/other":     file(""),
		"journal/suite/s.go":           file("package suite\n\nfunc testPart(t *testing.T) {}\n"),
		"sdk/kit/k_test.go":            file("package kit\n\nfunc FuzzK(f *testing.F) {}\n"),
		"sdk/tests/due.rs":             file("#[test]\nfn comes_in_due_order() {}\n"),
		"bin/old_test.go":              file("package old\n\nfunc TestOld(t *testing.T) {}\n"),
		"docs/with a space/readme.txt": file(""),
	}
	problems := func(page string) []string {
		tree["p.md"] = file(page)
		found, err := check(tree, "p.md")
		require.NoError(t, err)
		return found
	}
	row := func(tests string) []string {
		return problems("| promise | test |\n| --- | --- |\n| it works | " + tests + " |\n")
	}

	for _, tests := range []string{
		"`TestA`", "`TestA` (`host`)", "`TestA` (`host`, both stores)", "`testPart` of each store",
		"`FuzzK` (`kit`); `TestA`",
		"`TestRuns` (`host`, `testdata/runs/move_*`, `other`)", "`TestRuns` (`testdata/runs/other`)",
		"`TestRuns` (`host`, `move_*`)", "`TestRuns` (`other`)", "`TestA` (`host`, `left`)",
		"`TestA` (`host/a_test.go`)", "`sdk/tests/due.rs`", "`comes_in_due_order` (`sdk/tests`)",
		"`TestA` at `turn.before-commit`",
	} {
		require.Empty(t, row(tests), tests)
	}
	for tests, want := range map[string]string{
		"none":                                    "no test is named",
		"`TestB`":                                 "there is no test TestB",
		"`TestA`, `TestB` (`host`)":               "there is no test TestB",
		"`TestOld`":                               "there is no test TestOld",
		"`TestA` (`sdk/kit`)":                     "the test TestA is in host, not in sdk/kit",
		"`TestA` (`hosts`)":                       "hosts is not a folder, a file or a case of a test",
		"`TestA` (`host/gone`)":                   "host/gone is not a folder, a file or a case of a test",
		"`TestRuns` (`host`, `gone_*`)":           "gone_* is not a folder, a file or a case of a test",
		"`TestRuns` (`journal`, `left`)":          "left is not a folder, a file or a case of a test",
		"`TestRuns` (`host`, `testdata/runs/no`)": "there is no file testdata/runs/no in host",
		"`TestRuns` (`host`, `testdata/runs/move_one`, `gone`)": "there is no file testdata/runs/gone in host",
		"`sdk/tests/gone.rs`": "there is no file sdk/tests/gone.rs",
		"`comes_in_no_order`": "there is no test comes_in_no_order",
	} {
		require.Contains(t, row(tests), "p.md:3: "+want, tests)
	}
	require.Empty(t, problems("## 1. It works\n\n**Tests.** `TestA`.\n\n## And besides\n"))
	require.Equal(
		t, []string{`p.md:3: the section "1. It works" before has no tests`},
		problems("## 1. It works\n\n## 2. It does\n\n**Tests.** `TestA`\n"),
	)
	require.Equal(t, []string{`p.md:1: the section "1. It works" has no tests`}, problems("## 1. It works\n"))

	_, err := check(tree, "none.md")
	require.Error(t, err)
}
