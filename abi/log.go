package abi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// logSeparator parts the text of a log record from its attributes: the record separator of ASCII.
const logSeparator = 0x1e

// maxLogAttrs bounds the attributes of a log record: further ones are dropped.
const maxLogAttrs = 64

// LogAttr is an attribute of a log record. Its value is nil, a bool, an integer, a float or a text.
type LogAttr struct {
	Key   string
	Value any
}

// String is the attribute as a line of text has it.
func (a LogAttr) String() string {
	text := fmt.Sprint(a.Value)
	if text == "" || strings.ContainsAny(text, " \t\r\n\"=") {
		text = strconv.Quote(text)
	}
	return a.Key + "=" + text
}

// EncodeLog is a record as [ImportLog] takes it: the text and, if there are attributes, a
// separator and a list of keys and values.
func EncodeLog(text string, attrs []LogAttr) []byte {
	out := []byte(strings.ReplaceAll(text, string(rune(logSeparator)), " "))
	if len(attrs) == 0 {
		return out
	}
	list := make([]any, 0, 2*len(attrs))
	for _, a := range attrs {
		list = append(list, a.Key, a.Value)
	}
	encoded, err := Marshal(list)
	if err != nil {
		return out
	}
	return append(append(out, logSeparator), encoded...)
}

// DecodeLog takes a record apart. A part that does not decode, as it was cut off or is no list, is
// dropped: the text is there in any case.
func DecodeLog(record []byte) (text string, attrs []LogAttr) {
	head, tail, is := bytes.Cut(record, []byte{logSeparator})
	var list []any
	if !is || DecodeBody(tail, &list) != nil {
		return string(head), nil
	}
	for i := 0; i+1 < len(list) && len(attrs) < maxLogAttrs; i += 2 {
		if key, ok := list[i].(string); ok && key != "" {
			attrs = append(attrs, LogAttr{key, logValue(list[i+1])})
		}
	}
	return string(head), attrs
}

// logValue is a value of a guest as one of the types of [LogAttr].
func logValue(v any) any {
	switch v := v.(type) {
	case nil, bool, string, float32, float64, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// LogText is a record as one line of text: the text, then key=value for each attribute.
func LogText(record []byte) string {
	text, attrs := DecodeLog(record)
	for _, a := range attrs {
		text += " " + a.String()
	}
	return text
}
