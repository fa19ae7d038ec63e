package guestsql

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"
)

var (
	errInterrupted = errors.New("interrupted")
	errTooBig      = errors.New("string or blob too big")
)

type scalar = func(args []sqlite.Value) (sqlite.Value, error)

// installFunctions replaces functions of SQLite that could run for long.
//
// SQLite checks whether it is interrupted between the steps of a program, not inside a function. Some of its functions
// take time in proportion to the product of their arguments' lengths: instr of two values of a few megabytes computes
// for minutes, and nothing can stop it while it has the writer. The functions here answer the same in linear time, or
// can be interrupted. A function that has no simple linear form is not allowed (costs.go).
func (b *Sandbox) installFunctions() error {
	for _, f := range []struct {
		name   string
		args   int
		varies bool
		scalar scalar
	}{
		{"glob", 2, false, b.glob},
		{"instr", 2, false, instr},
		{"like", 2, false, b.like},
		{"like", 3, false, b.like},
		{"ltrim", 2, false, trimmer(strings.TrimLeftFunc)},
		{"randomblob", 1, true, randomblob},
		{"replace", 3, false, replace},
		{"rtrim", 2, false, trimmer(strings.TrimRightFunc)},
		{"trim", 2, false, trimmer(strings.TrimFunc)},
		{"unhex", 2, false, unhex},
	} {
		err := b.conn.CreateFunction(f.name, &sqlite.FunctionImpl{
			NArgs:         f.args,
			Deterministic: !f.varies,
			AllowIndirect: true,
			Scalar: func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
				v, err := b.call(f.scalar, args)
				if err != nil {
					b.failure = err
					return tooBig(), nil
				}
				return v, nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tooBig makes SQLite fail the statement. The error of a function written in Go would not: the binding loses its code,
// and SQLite takes the text for a value. It is made when it is needed: each command of the CLI would have to wait for
// it.
var tooBig = sync.OnceValue(func() sqlite.Value { return sqlite.BlobValue(make([]byte, maxValueBytes+1)) })

func (b *Sandbox) call(f scalar, args []sqlite.Value) (sqlite.Value, error) {
	select {
	case <-b.stop:
		return sqlite.Value{}, errInterrupted
	default:
		return f(args)
	}
}

func anyNull(args []sqlite.Value) bool {
	for _, arg := range args {
		if arg.Type() == sqlite.TypeNull {
			return true
		}
	}
	return false
}

func instr(args []sqlite.Value) (sqlite.Value, error) {
	if anyNull(args) {
		return sqlite.Value{}, nil
	}
	if args[0].Type() == sqlite.TypeBlob && args[1].Type() == sqlite.TypeBlob {
		return sqlite.IntegerValue(int64(bytes.Index(args[0].Blob(), args[1].Blob()) + 1)), nil
	}
	text := args[0].Text()
	at := strings.Index(text, args[1].Text())
	if at < 0 {
		return sqlite.IntegerValue(0), nil
	}
	return sqlite.IntegerValue(int64(utf8.RuneCountInString(text[:at]) + 1)), nil
}

func replace(args []sqlite.Value) (sqlite.Value, error) {
	if anyNull(args[:2]) {
		return sqlite.Value{}, nil
	}
	text, old, with := args[0].Text(), args[1].Text(), args[2].Text()
	// SQLite takes a pattern that begins with a zero byte for an empty one.
	if old == "" || old[0] == 0 {
		return sqlite.TextValue(text), nil
	}
	if anyNull(args[2:]) {
		return sqlite.Value{}, nil
	}
	if grown := len(with) - len(old); grown > 0 && len(text)+strings.Count(text, old)*grown > maxValueBytes {
		return sqlite.Value{}, errTooBig
	}
	return sqlite.TextValue(strings.ReplaceAll(text, old, with)), nil
}

func trimmer(trim func(string, func(rune) bool) string) scalar {
	return func(args []sqlite.Value) (sqlite.Value, error) {
		if anyNull(args) {
			return sqlite.Value{}, nil
		}
		cut := runeSet(args[1].Text())
		return sqlite.TextValue(trim(args[0].Text(), func(r rune) bool { return cut[r] })), nil
	}
}

// runeSet ends at a zero byte, as SQLite's sets of characters do.
func runeSet(s string) map[rune]bool {
	s, _, _ = strings.Cut(s, "\x00")
	set := make(map[rune]bool)
	for _, r := range s {
		set[r] = true
	}
	return set
}

func randomblob(args []sqlite.Value) (sqlite.Value, error) {
	n := max(args[0].Int64(), 1)
	if n > maxValueBytes {
		return sqlite.Value{}, errTooBig
	}
	b := make([]byte, n)
	_, err := rand.Read(b)
	return sqlite.BlobValue(b), err
}

// unhex decodes pairs of digits; characters of the second argument may stand between the pairs. Anything else yields
// NULL.
func unhex(args []sqlite.Value) (sqlite.Value, error) {
	if anyNull(args) {
		return sqlite.Value{}, nil
	}
	between := runeSet(args[1].Text())
	text, _, _ := strings.Cut(args[0].Text(), "\x00") // as SQLite does
	out := make([]byte, 0, len(text)/2)
	for text != "" {
		if high, ok := hexDigit(text[0]); ok {
			if len(text) < 2 {
				return sqlite.Value{}, nil
			}
			low, ok := hexDigit(text[1])
			if !ok {
				return sqlite.Value{}, nil
			}
			out, text = append(out, high<<4|low), text[2:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		if !between[r] {
			return sqlite.Value{}, nil
		}
		text = text[size:]
	}
	return sqlite.BlobValue(out), nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
