package abi

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Bounds of an error that a guest or a caller hands in.
const (
	maxErrorText    = 16 << 10
	maxErrorDetails = 256 << 10
)

var errorCode = regexp.MustCompile(`^CR-[0-9]{4}$`)

// Clamp bounds an error that came from a guest or a caller, so that a long one
// cannot fill journals. Texts become valid UTF-8, because the API carries nothing
// else; a code that is not one of Cruster's is dropped, and so are details that
// are too large.
func (e *Error) Clamp() {
	e.Message = clampText(e.Message, maxErrorText)
	e.Hint = clampText(e.Hint, maxErrorText)
	e.Type = clampText(e.Type, MaxName)
	if !errorCode.MatchString(string(e.Code)) {
		e.Code = ""
	}
	if len(e.Details) > maxErrorDetails {
		e.Details = nil
	}
}

// clampText cuts a text to at most limit bytes, between two characters.
func clampText(text string, limit int) string {
	if len(text) > limit {
		const ellipsis = "…"
		cut := limit - len(ellipsis)
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + ellipsis
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
