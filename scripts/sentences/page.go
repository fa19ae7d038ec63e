package main

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// wrap returns a page with one sentence a line.
func wrap(page string) string {
	w := wrapper{blank: true}
	for line := range strings.Lines(page) {
		w.read(strings.TrimSuffix(line, "\n"))
	}
	w.end()
	return w.out.String()
}

type wrapper struct {
	out       strings.Builder
	paragraph []string  // lines of the paragraph under way
	prefix    [2]string // the prefix of the first line of the paragraph, and of the others
	content   int       // the column in which the text of the list item begins
	blank     bool      // whether the line before was blank
	closing   string    // the beginning of the line that ends a part to be skipped
}

var (
	// marks are an indent, the marks of quotes, and the mark of a list item.
	marks = regexp.MustCompile(`^((?:\s*>)*\s*)((?:[-*+]|\d+[.)])\s+)?`)
	// notText begins headings, rows of tables, HTML, rules and definitions of links.
	notText = regexp.MustCompile(`^(#{1,6} |\||<|-{3,}$|\[[^\]]+\]: )`)
)

func (w *wrapper) read(line string) {
	mark := marks.FindStringSubmatch(line)
	text := line[len(mark[0]):]
	indent, item := utf8.RuneCountInString(mark[1]), mark[2] != ""
	switch {
	case w.closing != "":
		if strings.HasPrefix(text, w.closing) {
			w.closing = ""
		}
		w.copy(line)
	case strings.HasPrefix(text, "```"):
		w.closing = "```"
		w.copy(line)
	case strings.HasPrefix(text, "<!-- begin "):
		w.closing = "<!-- end "
		w.copy(line)
	case text == "" && !item, notText.MatchString(text):
		w.copy(line)
	case w.blank && !item && indent >= w.content+4: // indented code
		w.copy(line)
	default:
		if item || len(w.paragraph) == 0 {
			w.begin(mark[1], mark[2])
		}
		w.add(text)
	}
}

// copy ends the paragraph, and writes a line as it is.
func (w *wrapper) copy(line string) {
	w.end()
	w.out.WriteString(line + "\n")
	w.blank = strings.TrimSpace(line) == ""
}

// begin begins a paragraph.
func (w *wrapper) begin(indent, item string) {
	w.end()
	w.prefix = [2]string{indent + item, indent + strings.Repeat(" ", utf8.RuneCountInString(item))}
	w.content = utf8.RuneCountInString(w.prefix[1])
}

// add adds a line to the paragraph. A backslash at its end is a break that stays.
func (w *wrapper) add(text string) {
	w.blank = false
	w.paragraph = append(w.paragraph, text)
	if strings.HasSuffix(text, `\`) {
		w.end()
	}
}

// end writes the paragraph.
func (w *wrapper) end() {
	for _, sentence := range sentences(strings.Join(w.paragraph, " ")) {
		w.out.WriteString(w.prefix[0] + sentence + "\n")
		w.prefix[0] = w.prefix[1]
	}
	w.paragraph = nil
}
