// Command diagrams checks the diagrams in Markdown: sequence diagrams of Mermaid, whose participants and blocks must be
// declared, used and closed, and drawings in text, which must fit a screen.
//
//	go run ./scripts/diagrams PAGE…    # print what is wrong
package main

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// widest is how wide a drawing may be: pages show it without a scroll bar.
const widest = 100

func main() {
	failed := false
	for _, page := range os.Args[1:] {
		text, err := os.ReadFile(page)
		if err != nil {
			fmt.Fprintln(os.Stderr, "diagrams:", err)
			os.Exit(1)
		}
		for _, p := range problems(string(text)) {
			fmt.Fprintf(os.Stderr, "diagrams: %s:%s\n", page, p)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// problems are the faults of the diagrams of a page, each with its line.
func problems(page string) (found []string) {
	language, block, first := "", []string{}, 0
	for n, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && first == 0:
			language, block, first = fence, nil, n+2
		case isFence:
			found = append(found, problemsOf(language, block, first)...)
			first = 0
		case first > 0:
			block = append(block, line)
		}
	}
	return found
}

// problemsOf are the faults of one block, whose first line has a number.
func problemsOf(language string, block []string, first int) (found []string) {
	complain := func(line int, format string, args ...any) {
		found = append(found, fmt.Sprintf("%d: %s", first+line, fmt.Sprintf(format, args...)))
	}
	switch {
	case language == "mermaid":
		checkSequence(block, complain)
	case language == "text" && isDrawing(block):
		for n, line := range block {
			if width := utf8.RuneCountInString(line); width > widest {
				complain(n, "the drawing is %d columns wide, of at most %d", width, widest)
			}
		}
	}
	return found
}

// isDrawing tells whether a block has lines of a box or arrows.
func isDrawing(block []string) bool {
	return strings.ContainsFunc(strings.Join(block, ""), func(r rune) bool {
		return r >= '─' && r <= '╿' || strings.ContainsRune("▲▶▼◀", r)
	})
}
