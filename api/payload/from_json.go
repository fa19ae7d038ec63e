package payload

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/cruster/cruster/abi"
)

// MaxJSON bounds a JSON text, in bytes: the largest msgpack value, written with escapes and in base64, fits.
const MaxJSON = 4 * abi.MaxBody

// FromJSON converts one JSON text to canonical msgpack that fits the schema; a nil schema takes every value. Errors are
// [abi.CodeBadInput] or [abi.CodePayloadTooLarge].
//
// The conversion only adapts values that JSON cannot express (floats without a point, bytes,
// times). The schema then checks the result, so that JSON and msgpack are refused with the same
// words.
func FromJSON(text []byte, s *abi.Schema) ([]byte, error) {
	if len(text) > MaxJSON {
		return nil, abi.Errorf(
			abi.CodePayloadTooLarge, "a JSON text of %d bytes is over the limit of %d", len(text), MaxJSON,
		)
	}
	if !utf8.Valid(text) {
		return nil, abi.Errorf(abi.CodeBadInput, "the JSON text is not valid UTF-8")
	}
	c := newConverter(text)
	if err := c.value(s, 0); err != nil {
		return nil, asBadInput(err)
	}
	if _, err := c.json.Token(); !errors.Is(err, io.EOF) {
		return nil, abi.Errorf(abi.CodeBadInput, "something follows the JSON value at byte %d", c.json.InputOffset())
	}
	out, err := abi.Canonical(c.out.Bytes())
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadInput, "%v", err)
	}
	if len(out) > abi.MaxBody {
		return nil, abi.Errorf(
			abi.CodePayloadTooLarge, "a payload of %d bytes is over the limit of %d", len(out), abi.MaxBody,
		)
	}
	return out, s.Check(out)
}

// A converter reads JSON tokens and writes msgpack.
type converter struct {
	source []byte
	json   *json.Decoder
	out    bytes.Buffer
	enc    *msgpack.Encoder
}

func newConverter(text []byte) *converter {
	c := &converter{source: text, json: json.NewDecoder(bytes.NewReader(text))}
	c.json.UseNumber()
	c.enc = msgpack.NewEncoder(&c.out)
	c.enc.UseCompactInts(true)
	return c
}

func (c *converter) value(s *abi.Schema, depth int) error {
	if depth > abi.MaxDepth {
		return abi.Errorf(abi.CodeBadInput, "the JSON text is nested more than %d deep", abi.MaxDepth)
	}
	t, err := c.token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return c.object(s, depth)
		}
		return c.array(s, depth)
	case json.Number:
		return c.number(t.String(), s)
	case string:
		return c.text(t, s)
	default: // nil or bool
		return c.enc.Encode(t)
	}
}

// HintOnQuotes is the hint for a text which is no JSON: shells take quotes away.
const HintOnQuotes = "In JSON, texts and the names of fields are in double quotes. " +
	`Put single quotes around them, or the shell takes them away: --input '"text"', --input '{"name":"text"}'.`

// token reads the next token, and words syntax errors for users.
func (c *converter) token() (json.Token, error) {
	t, err := c.json.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		// The decoder takes a misspelt word at the end for an unfinished one.
		if rest := bytes.Trim(c.source[c.json.InputOffset():], " \t\r\n,:"); len(rest) > 0 &&
			!bytes.ContainsAny(rest[:1], `"[{`) {
			return nil, abi.Errorf(abi.CodeBadInput, "%.40q is not JSON", rest).WithHint("%s", HintOnQuotes)
		}
		return nil, abi.Errorf(abi.CodeBadInput, "the JSON text ends early, at byte %d", c.json.InputOffset())
	}
	if err != nil {
		return nil, abi.Errorf(
			abi.CodeBadInput, "the JSON text is malformed near byte %d: %v", c.json.InputOffset(), err,
		).WithHint("%s", HintOnQuotes)
	}
	return t, nil
}

func (c *converter) object(s *abi.Schema, depth int) error {
	count := c.open(msgpcode.Map32)
	keys := map[string]bool{}
	for c.json.More() {
		t, err := c.token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder lets nothing else stand here
		if keys[key] {
			return misfitf("the key %q occurs twice", clip(key))
		}
		keys[key] = true
		if err := c.enc.EncodeString(key); err != nil {
			return err
		}
		if err := c.value(childOf(s, key), depth+1); err != nil {
			return prefixPath(err, key)
		}
	}
	c.close(count, len(keys))
	_, err := c.token()
	return err
}

func (c *converter) array(s *abi.Schema, depth int) error {
	var elem *abi.Schema
	if s != nil && s.Type == abi.TypeList {
		elem = s.Elem
	}
	count := c.open(msgpcode.Array32)
	n := 0
	for ; c.json.More(); n++ {
		if err := c.value(elem, depth+1); err != nil {
			return prefixPath(err, "["+strconv.Itoa(n)+"]")
		}
	}
	c.close(count, n)
	_, err := c.token()
	return err
}

// open writes the head of a collection whose size is known only when it ends; the canonical form shortens it later. It
// returns where the size stands.
func (c *converter) open(head byte) int {
	c.out.Write([]byte{head, 0, 0, 0, 0})
	return c.out.Len() - 4
}

func (c *converter) close(count, n int) {
	binary.BigEndian.PutUint32(c.out.Bytes()[count:], uint32(n))
}

// childOf is the schema of an object's entry; nil if none is known.
func childOf(s *abi.Schema, key string) *abi.Schema {
	if s == nil {
		return nil
	}
	switch s.Type {
	case abi.TypeMap:
		return s.Elem
	case abi.TypeStruct:
		for _, f := range s.Fields {
			if f.Name == key {
				return f.Schema
			}
		}
	}
	return nil
}

func (c *converter) text(t string, s *abi.Schema) error {
	switch {
	case s != nil && s.Type == abi.TypeBytes:
		b, err := base64.StdEncoding.Strict().DecodeString(t)
		if err != nil {
			return misfitf("expected bytes as a base64 string: %v", err)
		}
		return c.enc.EncodeBytes(b)
	case s != nil && s.Type == abi.TypeTime:
		at, err := time.Parse(time.RFC3339Nano, t)
		if err != nil {
			return misfitf("expected a time as an RFC 3339 string (2026-01-31T12:00:00Z), got %q", clip(t))
		}
		return c.enc.EncodeTime(at.UTC())
	default:
		return c.enc.EncodeString(t)
	}
}

func (c *converter) number(literal string, s *abi.Schema) error {
	whole := !strings.ContainsAny(literal, ".eE")
	switch {
	case s != nil && s.Type == abi.TypeFloat:
		return c.float(literal, whole, s.Bits)
	case whole:
		return c.integer(literal)
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return misfitf("%s is out of the range of a 64-bit float", clip(literal))
	}
	// 1e3 and 5.0 are integers where the type is an integer, as long as it is certain which: above 2^53 neighbours
	// share a float.
	if s != nil && (s.Type == abi.TypeInt || s.Type == abi.TypeUint) && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return c.enc.EncodeInt(int64(f))
	}
	return c.enc.EncodeFloat64(f)
}

func (c *converter) integer(literal string) error {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return c.enc.EncodeInt(i)
	}
	u, err := strconv.ParseUint(literal, 10, 64)
	if err != nil {
		return misfitf("%s does not fit into 64 bits", clip(literal))
	}
	return c.enc.EncodeUint(u)
}

func (c *converter) float(literal string, whole bool, bits int) error {
	if bits != 32 {
		bits = 64
	}
	f, err := strconv.ParseFloat(literal, bits)
	if err != nil {
		return misfitf("%s is out of the range of a %d-bit float", clip(literal), bits)
	}
	// A user who writes an integer means that integer: it is refused if the float would be another. A decimal fraction
	// is understood to be rounded.
	if whole && strconv.FormatFloat(f, 'f', 0, 64) != literal && !isZero(literal) {
		return misfitf("%s cannot be held exactly by a %d-bit float", clip(literal), bits)
	}
	if bits == 32 {
		return c.enc.EncodeFloat32(float32(f))
	}
	return c.enc.EncodeFloat64(f)
}

func isZero(literal string) bool { return literal == "0" || literal == "-0" }

// A misfit is a value that cannot be converted. Its path grows from the leaf upwards, so that values that fit pay
// nothing for it.
type misfit struct{ path, message string }

func misfitf(format string, args ...any) error {
	return &misfit{message: fmt.Sprintf(format, args...)}
}

func (m *misfit) Error() string {
	if m.path == "" {
		return m.message
	}
	return clip(m.path) + ": " + m.message
}

// prefixPath puts one more step before the path of a misfit.
func prefixPath(err error, step string) error {
	var m *misfit
	if errors.As(err, &m) {
		if m.path != "" && m.path[0] != '[' {
			step += "."
		}
		m.path = step + m.path
	}
	return err
}

func asBadInput(err error) error {
	var m *misfit
	if errors.As(err, &m) {
		return abi.Errorf(abi.CodeBadInput, "%v", m)
	}
	return abi.AsError(err)
}

// clip keeps a caller's text from filling a message.
func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
