// Command sentences checks that Markdown has one sentence a line: paragraphs, list items and quotes break where a
// sentence ends, and nowhere else. It skips tables, headings, code, HTML, definitions of links and text between
// the comments "begin …" and "end …".
//
//	go run ./scripts/sentences PAGE…       # print the first line of each page that breaks elsewhere
//	go run ./scripts/sentences -w PAGE…    # break the lines
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	write := flag.Bool("w", false, "break the lines of the pages")
	flag.Parse()
	problems, err := check(flag.Args(), *write)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sentences:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "sentences:", p)
	}
	if len(problems) > 0 {
		fmt.Fprintln(os.Stderr, "sentences: 'go run ./scripts/sentences -w PAGE…' breaks the lines")
		os.Exit(1)
	}
}

// check returns a line for each page that breaks elsewhere, or writes the page.
func check(pages []string, write bool) (problems []string, err error) {
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		broken := wrap(string(text))
		switch {
		case broken == string(text):
		case write:
			if err := os.WriteFile(page, []byte(broken), 0o600); err != nil { // the mode of a new file
				return nil, err
			}
		default:
			problems = append(problems, page+":"+firstDifference(string(text), broken))
		}
	}
	return problems, nil
}

// firstDifference renders the first line of a page that is another one in the page as it should be.
func firstDifference(page, want string) string {
	wanted := strings.Split(want, "\n")
	for i, line := range strings.Split(page, "\n") {
		if i == len(wanted) || line != wanted[i] {
			return fmt.Sprintf("%d: not one sentence a line: %s", i+1, strings.TrimSpace(line))
		}
	}
	return "the page ends early"
}
