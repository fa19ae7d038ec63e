package payload

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/cruster/cruster/abi"
)

// ToJSON converts one msgpack value to JSON: bytes become base64 strings, timestamps RFC 3339 strings, keys that are
// integers strings. Integers keep all their digits, floats always show a point or an exponent, and NaN and the
// infinities, which JSON lacks, become strings. Errors are [abi.CodeBadInput].
func ToJSON(data []byte) ([]byte, error) {
	canonical, err := abi.Canonical(data)
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadInput, "the payload is malformed: %v", err)
	}
	w := &writer{out: make([]byte, 0, len(canonical)+len(canonical)/2)}
	w.dec = msgpack.NewDecoder(bytes.NewReader(canonical))
	if err := w.value(); err != nil {
		return nil, err
	}
	return w.out, nil
}

// A writer reads a canonical value and writes JSON. The depth was bounded by the canonical form.
type writer struct {
	dec *msgpack.Decoder
	out []byte
}

func (w *writer) value() error {
	code, err := w.dec.PeekCode()
	if err != nil {
		return malformed(err)
	}
	switch {
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return w.array()
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return w.object()
	case msgpcode.IsExt(code):
		return w.extension()
	case msgpcode.IsBin(code):
		b, err := w.dec.DecodeBytes()
		if err != nil {
			return malformed(err)
		}
		w.text(base64.StdEncoding.EncodeToString(b))
		return nil
	}
	v, err := w.dec.DecodeInterfaceLoose()
	if err != nil {
		return malformed(err)
	}
	return w.scalar(v, code)
}

func (w *writer) scalar(v any, code byte) error {
	switch v := v.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case int64:
		w.out = strconv.AppendInt(w.out, v, 10)
	case uint64:
		w.out = strconv.AppendUint(w.out, v, 10)
	case float64:
		bits := 64
		if code == msgpcode.Float {
			bits = 32
		}
		w.float(v, bits)
	case string:
		w.text(v)
	default:
		return abi.Errorf(abi.CodeBadInput, "a %T has no form in JSON", v)
	}
	return nil
}

func (w *writer) float(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.text(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, bits), "+"))
		return
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, bits)
	w.out = append(w.out, s...)
	if !strings.ContainsAny(s, ".e") {
		w.out = append(w.out, ".0"...)
	}
}

// text writes a JSON string. Strings of a module need not be UTF-8; invalid bytes become U+FFFD,
// for a JSON text must be UTF-8.
func (w *writer) text(s string) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // no string fails to encode
	}
	w.out = append(w.out, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

func (w *writer) array() error {
	n, err := w.dec.DecodeArrayLen()
	if err != nil {
		return malformed(err)
	}
	w.out = append(w.out, '[')
	for i := range n {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *writer) object() error {
	n, err := w.dec.DecodeMapLen()
	if err != nil {
		return malformed(err)
	}
	w.out = append(w.out, '{')
	keys := make(map[string]bool, n)
	for i := range n {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		key, err := w.key()
		if err != nil {
			return err
		}
		if keys[key] {
			return abi.Errorf(abi.CodeBadInput, "a map has two keys that are both %q in JSON", clip(key)).WithHint(
				"Ask for the payload as msgpack.",
			)
		}
		keys[key] = true
		w.text(key)
		w.out = append(w.out, ':')
		if err := w.value(); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

func (w *writer) key() (string, error) {
	k, err := w.dec.DecodeInterfaceLoose()
	if err != nil {
		return "", malformed(err)
	}
	switch k := k.(type) {
	case string:
		return strings.ToValidUTF8(k, "\uFFFD"), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case uint64:
		return strconv.FormatUint(k, 10), nil
	case bool:
		return strconv.FormatBool(k), nil
	default:
		return "", abi.Errorf(abi.CodeBadInput, "a map has a key of type %T, which JSON cannot express", k).WithHint(
			"Ask for the payload as msgpack.",
		)
	}
}

// extension writes a timestamp as RFC 3339, others with their type and bytes.
func (w *writer) extension() error {
	id, n, err := w.dec.DecodeExtHeader()
	if err != nil {
		return malformed(err)
	}
	raw := make([]byte, n)
	if err := w.dec.ReadFull(raw); err != nil {
		return malformed(err)
	}
	if id == -1 {
		if at, ok := timestamp(raw); ok {
			w.text(at.Format(time.RFC3339Nano))
			return nil
		}
	}
	w.out = append(w.out, `{"$extension":`...)
	w.out = strconv.AppendInt(w.out, int64(id), 10)
	w.out = append(w.out, `,"data":`...)
	w.text(base64.StdEncoding.EncodeToString(raw))
	w.out = append(w.out, '}')
	return nil
}

// timestamp decodes the three sizes of msgpack's timestamp, and refuses times that RFC 3339 cannot
// write: years beyond 9999.
func timestamp(raw []byte) (time.Time, bool) {
	var at time.Time
	switch len(raw) {
	case 4:
		at = time.Unix(int64(bigEndian(raw)), 0)
	case 8:
		u := bigEndian(raw)
		at = time.Unix(int64(u&(1<<34-1)), int64(u>>34))
	case 12:
		sec := int64(bigEndian(raw[4:]))
		if sec < -1<<40 || sec > 1<<40 {
			return at, false
		}
		at = time.Unix(sec, int64(bigEndian(raw[:4])))
	default:
		return at, false
	}
	at = at.UTC()
	return at, at.Year() >= 0 && at.Year() <= 9999
}

func bigEndian(b []byte) uint64 {
	var u uint64
	for _, x := range b {
		u = u<<8 | uint64(x)
	}
	return u
}

func malformed(err error) error {
	return abi.Errorf(abi.CodeBadInput, "the payload is malformed: %v", err)
}
