package abi

import (
	"strings"
	"unicode/utf8"
)

// Bounds of an error that a guest or a caller hands in.
const (
	maxErrorText    = 16 << 10
	maxErrorDetails = 256 << 10
)

// Clamp bounds an error that came from a guest or a caller, so that a long one cannot fill journals. Texts become valid
// UTF-8, because the API carries nothing else; a code that is not one of Cruster's is dropped, and so are details that
// are too large.
func (e *Error) Clamp() {
	e.Message = clampText(e.Message, maxErrorText)
	e.Hint = clampText(e.Hint, maxErrorText)
	e.Type = clampText(e.Type, MaxName)
	if !e.Code.wellFormed() {
		e.Code = ""
	}
	if len(e.Details) > maxErrorDetails {
		e.Details = nil
	}
}

// wellFormed tells whether a code has the form CR-1234. It is not a regular expression: those
// would be in every module.
func (c Code) wellFormed() bool {
	digits, ours := strings.CutPrefix(string(c), "CR-")
	return ours && len(digits) == 4 && strings.Trim(digits, "0123456789") == ""
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

// ClampReason cuts the reason of an interrupt to the allowed length.
func ClampReason(reason string) string { return clampText(reason, MaxReason) }
