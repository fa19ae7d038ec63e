package main

import (
	"regexp"
	"slices"
	"strings"
)

var (
	participant = regexp.MustCompile(`^participant (\w+)(?: as \S.*)?$`)
	arrow       = regexp.MustCompile(`^(\w+)(?:->>|-->>)(\w+): \S.*$`)
	note        = regexp.MustCompile(`^Note (?:over|left of|right of) (\w+)(?:,(\w+))?: \S.*$`)
	opening     = regexp.MustCompile(`^(alt|opt|par|loop)(?: \S.*)?$`)
	divider     = regexp.MustCompile(`^(else|and)(?: \S.*)?$`)
)

// A sequence is a sequence diagram as far as it was read.
type sequence struct {
	used     map[string]bool // by participant
	declared []string
	blocks   []string // open ones, by their first words
	complain func(format string, args ...any)
}

// checkSequence checks the lines of a sequence diagram.
func checkSequence(lines []string, complain func(line int, format string, args ...any)) {
	if len(lines) == 0 || strings.TrimSpace(lines[0]) != "sequenceDiagram" {
		complain(0, "a diagram begins with sequenceDiagram; other kinds are not checked")
		return
	}
	d := &sequence{used: map[string]bool{}}
	for n, line := range lines[1:] {
		d.complain = func(format string, args ...any) { complain(n+1, format, args...) }
		d.read(strings.TrimSpace(line))
	}
	d.complain = func(format string, args ...any) { complain(len(lines)-1, format, args...) }
	for _, name := range d.declared {
		if !d.used[name] {
			d.complain("nothing is sent to or by %s", name)
		}
	}
	if len(d.blocks) > 0 {
		d.complain("%s has no end", d.blocks[len(d.blocks)-1])
	}
}

// read takes one line.
func (d *sequence) read(line string) {
	if line == "" || strings.HasPrefix(line, "%%") {
		return
	}
	if m := participant.FindStringSubmatch(line); m != nil {
		if slices.Contains(d.declared, m[1]) {
			d.complain("%s is declared twice", m[1])
		}
		d.declared = append(d.declared, m[1])
		return
	}
	for _, form := range []*regexp.Regexp{arrow, note} {
		if m := form.FindStringSubmatch(line); m != nil {
			d.use(m[1], m[2])
			return
		}
	}
	d.readBlock(line)
}

// use notes the participants of an arrow or a note.
func (d *sequence) use(names ...string) {
	for _, name := range names {
		if name != "" && !slices.Contains(d.declared, name) {
			d.complain("%s is not declared", name)
		}
		d.used[name] = true
	}
}

// dividers are the words that divide the blocks of a kind.
var dividers = map[string]string{"alt": "else", "par": "and"}

// readBlock takes a line that begins, divides or ends a block.
func (d *sequence) readBlock(line string) {
	last := len(d.blocks) - 1
	switch {
	case opening.MatchString(line):
		d.blocks = append(d.blocks, opening.FindStringSubmatch(line)[1])
	case divider.MatchString(line):
		if word := divider.FindStringSubmatch(line)[1]; last < 0 || dividers[d.blocks[last]] != word {
			d.complain("%s divides no block", word)
		}
	case line == "end" && last >= 0:
		d.blocks = d.blocks[:last]
	default:
		d.complain("not a line of a sequence diagram: %s", line)
	}
}
