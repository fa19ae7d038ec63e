package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentences divides the text of a paragraph.
func sentences(text string) []string {
	var all []string
	var open nesting
	words := strings.Fields(text)
	start := 0
	for i, word := range words {
		open.read(word)
		last := i == len(words)-1
		if !last && (open.any() || !ends(word, words[i+1]) || len(all) == 0 && isHeading(words[:i+1])) {
			continue
		}
		all = append(all, strings.Join(words[start:i+1], " "))
		start = i + 1
	}
	return all
}

// nesting is the state of brackets and code spans. A sentence does not end within them.
type nesting struct {
	brackets int
	code     bool
}

func (n *nesting) read(word string) {
	for _, r := range word {
		switch {
		case r == '`':
			n.code = !n.code
		case n.code:
		case r == '(' || r == '[':
			n.brackets++
		case r == ')' || r == ']':
			n.brackets = max(0, n.brackets-1)
		}
	}
}

func (n *nesting) any() bool { return n.brackets > 0 || n.code }

var abbreviations = []string{"e.g.", "i.e.", "cf.", "vs.", "no.", "approx."}

// blockMark is a word that would begin a list item, a heading or a quote if it began a line.
var blockMark = regexp.MustCompile(`^([-*+>]|#{1,6}|\d+[.)])$`)

// ends tells whether a sentence ends with a word in front of another.
func ends(word, next string) bool {
	bare := strings.TrimRight(word, `)]"'”’*_`)
	if blockMark.MatchString(next) ||
		slices.Contains(abbreviations, strings.ToLower(strings.TrimLeft(bare, `([“"'*_`))) {
		return false
	}
	initial, _ := utf8.DecodeRuneInString(strings.TrimLeft(next, "([“\"'*_`"))
	switch {
	case strings.HasSuffix(bare, ".."):
		return false
	case strings.HasSuffix(bare, ".") && bare == word:
		return true // names of commands and files begin sentences, too
	case strings.HasSuffix(bare, "."), strings.HasSuffix(bare, "?"), strings.HasSuffix(bare, "!"):
		return !unicode.IsLower(initial)
	}
	return false
}

// isHeading tells whether words are the bold heading of a paragraph, which stays in front of its first sentence.
func isHeading(words []string) bool {
	text := strings.Join(words, " ")
	return strings.HasPrefix(text, "**") && strings.HasSuffix(text, "**") && strings.Count(text, "**") == 2
}
