// Command guarantees checks that a page of promises names tests that exist: each row of its table and each numbered
// section has at least one, each test is declared, in the folder that is written behind it, and so are folders, files
// of testdata, and cases.
//
//	go run ./scripts/guarantees docs/GUARANTEES.md
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	problems, err := check(os.DirFS("."), os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "guarantees:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "guarantees:", p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
	fmt.Println("tests of guarantees ok")
}

// check returns the faults of the page.
func check(tree fs.FS, page string) ([]string, error) {
	text, err := fs.ReadFile(tree, page)
	if err != nil {
		return nil, err
	}
	known, err := survey(tree)
	if err != nil {
		return nil, err
	}
	var problems []string
	section := "" // the numbered section that has no tests yet
	complain := func(line int, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s:%d: ", page, line)+fmt.Sprintf(format, args...))
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		var proof string
		switch {
		case strings.HasPrefix(line, "## "):
			if section != "" {
				complain(number, "the section %q before has no tests", section)
			}
			section = ""
			if numbered.MatchString(line) {
				section = line[3:]
			}
			continue
		case strings.HasPrefix(line, "**Tests.**"):
			proof = strings.TrimPrefix(line, "**Tests.**")
		case isRow(line):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			proof = cells[len(cells)-1]
		default:
			continue
		}
		tests, missing := known.prove(proof)
		for _, m := range missing {
			complain(number, "%s", m)
		}
		if tests == 0 {
			complain(number, "no test is named")
			continue
		}
		section = ""
	}
	if section != "" {
		complain(number, "the section %q has no tests", section)
	}
	return problems, nil
}

var numbered = regexp.MustCompile(`^## \d+\. `)

// isRow tells a row of a table from its heading.
func isRow(line string) bool {
	return strings.HasPrefix(line, "| ") && line != "| promise | test |" && !strings.HasPrefix(line, "| ---")
}

// tree holds the names that the page may use.
type tree struct {
	files     []string
	folders   []string
	functions map[string][]string // the folders in which a test is declared, by its name
	texts     map[string][]string // the folders whose tests have a text, such as the name of a case
}

var (
	goTest   = regexp.MustCompile(`(?m)^func ((?:Test|test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	goText   = regexp.MustCompile(`"([a-z][a-z0-9_-]*)"`)
	rustTest = regexp.MustCompile(`(?m)^\s*(?:pub )?(?:async )?fn (\w+)`)
)

func survey(root fs.FS) (*tree, error) {
	known := &tree{functions: map[string][]string{}, texts: map[string][]string{}}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != "." &&
				(strings.HasPrefix(base, ".") || name == "target" || name == "bin" || name == "dist") {
				return fs.SkipDir
			}
			known.folders = append(known.folders, name)
			return nil
		}
		known.files = append(known.files, name)
		pattern := map[string]*regexp.Regexp{".go": goTest, ".rs": rustTest}[path.Ext(name)]
		if pattern == nil {
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range goText.FindAllSubmatch(content, -1) {
				known.texts[string(m[1])] = append(known.texts[string(m[1])], path.Dir(name))
			}
		}
		for _, m := range pattern.FindAllSubmatch(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), -1) {
			known.functions[string(m[1])] = append(known.functions[string(m[1])], path.Dir(name))
		}
		return nil
	})
	return known, err
}

var (
	part     = regexp.MustCompile("`[^`]+`|[()]|;")
	testName = regexp.MustCompile(`^(Test|test|Fuzz|Benchmark)[A-Z]\w*$`)
	rustName = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+){2,}$`)
)

// prove counts the tests that a text names, and tells which of them there are not. A test is declared in a folder that
// is named in the brackets behind it, if one is; files of testdata lie in that folder.
func (known *tree) prove(text string) (tests int, missing []string) {
	var names, inside []string // since the last brackets, and within them
	bracketed := false
	settle := func() {
		missing = append(missing, known.settle(names, inside)...)
		names, inside = nil, nil
	}
	for _, p := range part.FindAllString(text, -1) {
		name := strings.Trim(p, "`")
		switch {
		case p == "(":
			bracketed = true
		case p == ")":
			bracketed = false
			settle()
		case p == ";":
			if !bracketed {
				settle()
			}
		case bracketed && !testName.MatchString(name):
			inside = append(inside, name)
		case testName.MatchString(name) || rustName.MatchString(name):
			names = append(names, name)
			tests++
		case strings.HasSuffix(name, ".rs"):
			tests++
			if !slices.Contains(known.files, name) {
				missing = append(missing, "there is no file "+name)
			}
		}
	}
	settle()
	return tests, missing
}

// settle looks for tests, and for the names in the brackets behind them.
func (known *tree) settle(names, inside []string) (missing []string) {
	var folders []string
	data := "" // the folder of the last file of testdata
	for _, name := range inside {
		if found := known.foldersOf(name); len(found) > 0 && data == "" {
			folders = append(folders, found...)
			continue
		}
		file := name
		if data != "" && !strings.Contains(name, "/") {
			file = data + "/" + name
		}
		if !strings.HasPrefix(file, "testdata/") {
			if !known.hasCase(folders, name) {
				missing = append(missing, fmt.Sprintf("%s is not a folder, a file or a case of a test", name))
			}
			continue
		}
		data = path.Dir(file)
		if !known.hasFile(folders, file) {
			missing = append(missing, fmt.Sprintf("there is no file %s in %s", file, strings.Join(folders, ", ")))
		}
	}
	for _, name := range names {
		declared := known.functions[name]
		switch {
		case len(declared) == 0:
			missing = append(missing, fmt.Sprintf("there is no test %s", name))
		case len(folders) > 0 && !strings.HasPrefix(name, "test") &&
			!slices.ContainsFunc(declared, func(d string) bool { return under(d, folders) }):
			missing = append(
				missing,
				fmt.Sprintf(
					"the test %s is in %s, not in %s", name, strings.Join(declared, ", "), strings.Join(folders, ", "),
				),
			)
		}
	}
	return missing
}

// foldersOf are the folders that are named so: by the whole path, or by the last name.
func (known *tree) foldersOf(name string) (found []string) {
	if slices.Contains(known.folders, name) {
		return []string{name}
	}
	for _, f := range known.folders {
		if path.Base(f) == name {
			found = append(found, f)
		}
	}
	return found
}

// hasFile tells whether there is such a file in one of the folders, or in any if there are none. It may be a pattern.
func (known *tree) hasFile(folders []string, file string) bool {
	return slices.ContainsFunc(known.files, func(f string) bool {
		for _, folder := range folders {
			if ok, _ := filepath.Match(folder+"/"+file, f); ok {
				return true
			}
		}
		return len(folders) == 0 && strings.HasSuffix(f, "/"+file)
	})
}

// hasCase tells whether there is a file of this path, or, below one of the folders (anywhere if there are none), a file
// of this name, which may be a pattern, or a test with this text.
func (known *tree) hasCase(folders []string, name string) bool {
	inside := func(folder string) bool { return len(folders) == 0 || under(folder, folders) }
	return slices.Contains(known.files, name) || slices.ContainsFunc(known.texts[name], inside) ||
		slices.ContainsFunc(known.files, func(f string) bool {
			ok, _ := path.Match(name, path.Base(f))
			return ok && inside(path.Dir(f))
		})
}

func under(folder string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return folder == root || strings.HasPrefix(folder, root+"/")
	})
}
