// Command quotes checks that the code which pages show is code that compiles, or runs: that each block of Go, Rust,
// Python or TypeScript stands, word for word, in one of the files that the build compiles. In Go and Rust white space,
// commas before a closing bracket and comments may differ; a line with nothing but … stands for anything.
//
//	go run ./scripts/quotes PAGE… -- FILE…
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	split := slices.Index(os.Args, "--")
	if split < 2 || split == len(os.Args)-1 {
		fmt.Fprintln(os.Stderr, "usage: quotes PAGE… -- FILE…")
		os.Exit(2)
	}
	problems, err := check(os.Args[1:split], os.Args[split+1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "quotes:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "quotes:", p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// check returns a line for every block that no file has.
func check(pages, files []string) ([]string, error) {
	sources := map[string][]string{} // by extension
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		ext := filepath.Ext(name)
		sources[ext] = append(sources[ext], withoutLiberties(ext, string(text)))
	}
	var problems []string
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks(string(text)) {
			if !slices.ContainsFunc(sources[b.ext], b.isIn) {
				problems = append(problems, fmt.Sprintf("%s:%d: no file has this code", page, b.line))
			}
		}
	}
	return problems, nil
}

// block is one piece of code of a page.
type block struct {
	line  int
	ext   string
	parts []string
}

func (b block) isIn(source string) bool {
	for _, part := range b.parts {
		at := strings.Index(source, part)
		if at < 0 {
			return false
		}
		source = source[at+len(part):]
	}
	return true
}

// blocks are the quotes of a page. Whole programs are not: they are compiled as they are.
func blocks(page string) []block {
	extensions := map[string]string{"```go": ".go", "```rust": ".rs", "```python": ".py", "```ts": ".ts"}
	var all []block
	var lines []string
	ext, start := "", 0
	for i, line := range strings.Split(page, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case ext == "":
			ext, start, lines = extensions[trimmed], i+1, nil
		case trimmed != "```":
			lines = append(lines, line)
		default:
			if text := strings.Join(lines, "\n"); !strings.HasPrefix(text, "package main") {
				all = append(all, block{line: start, ext: ext, parts: parts(ext, text)})
			}
			ext = ""
		}
	}
	return all
}

var gap = regexp.MustCompile(`(?m)^\s*…\s*$`)

func parts(ext, text string) []string {
	var out []string
	for _, part := range gap.Split(text, -1) {
		// The end of the bracket may be left out of the quote.
		out = append(out, strings.TrimSuffix(withoutLiberties(ext, part), ","))
	}
	return out
}

// withoutLiberties is code without the parts that may differ in its language. In Python white space has a meaning:
// only quotes of Go and Rust are changed.
func withoutLiberties(ext, code string) string {
	if ext == ".go" || ext == ".rs" {
		return plain(code)
	}
	return "\n" + strings.Trim(code, "\n")
}

var (
	comment = regexp.MustCompile(`(?m)(^|\s)//.*$`)
	space   = regexp.MustCompile(`\s+`)
	comma   = regexp.MustCompile(`,([)\]}])`)
)

// plain is code without the parts that may differ.
func plain(code string) string {
	code = comment.ReplaceAllString(code, "")
	code = space.ReplaceAllString(code, "")
	return comma.ReplaceAllString(code, "$1")
}
