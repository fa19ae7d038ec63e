package symbolize

import (
	"slices"
	"strconv"
	"strings"
)

// rustName is the name of a function as it is written, without hashes, generic arguments and the names that
// macros of the SDK put around it: "_ZN6orders5count17h0123456789abcdefE", and
// "_RNvCs1234_6orders5count" as compilers have it since 2025, are "orders::count". Names of other
// languages stay as they are. It is empty if the name cannot be read.
//
// Names are the guest's own: reading one takes a bounded time, and it is shown and decides nothing.
func rustName(symbol string) string {
	var name string
	switch {
	case len(symbol) > maxRustSymbol:
	case strings.HasPrefix(symbol, "_ZN"):
		name = legacyRustName(symbol[len("_ZN"):])
	case strings.HasPrefix(symbol, "_R"):
		name = newRustName(symbol[len("_R"):])
	default:
		return symbol
	}
	return withoutGenerated(name)
}

// isRustSymbol reports whether a name was made by the Rust compiler.
func isRustSymbol(name string) bool {
	return strings.HasPrefix(name, "_ZN") || strings.HasPrefix(name, "_R")
}

// isRustAuthors reports whether a function is the user's or a library's, by its written name:
// whether it is neither of the SDK nor of the language's own crates.
func isRustAuthors(name string) bool {
	crate := crateOf(name)
	return crate != "" && !strings.HasPrefix(crate, "__") && !strings.HasPrefix(crate, "cruster_") &&
		!slices.Contains(foreignCrates, crate)
}

var foreignCrates = []string{"alloc", "compiler_builtins", "core", "cruster", "dlmalloc", "hashbrown", "std", "wasi"}

// crateOf returns the crate of a function, or of the type whose method it is. For a type without a
// crate, such as a number, it is the trait's. It is empty if there is none.
func crateOf(name string) string {
	for {
		name = strings.TrimLeft(name, "<&[(*")
		for _, word := range []string{"mut ", "const ", "dyn ", "impl "} {
			name = strings.TrimPrefix(name, word)
		}
		crate, _, isPath := strings.Cut(name, "::")
		if isPath && crate != "" && !strings.ContainsAny(crate, " ,<>()[]&*") && !isBasicType(crate) {
			return crate
		}
		_, trait, ok := strings.Cut(name, " as ")
		if !ok {
			return ""
		}
		name = trait
	}
}

func isBasicType(name string) bool {
	for _, basic := range basicTypes {
		if name == basic {
			return true
		}
	}
	return false
}

// withoutGenerated leaves out the parts absent from the author's source: closures that async
// functions are made of, and names that the macros of the SDK give to "self" and to blocks.
func withoutGenerated(name string) string {
	parts := strings.Split(name, "::")
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "_" || part == "{{closure}}" })
	for i, part := range parts {
		plain, generated := strings.CutPrefix(part, "__")
		for _, kind := range []string{"Run", "Attempt"} {
			if self, ok := strings.CutSuffix(plain, kind); ok && generated && i > 0 {
				parts[i] = self
			}
		}
	}
	return strings.Join(parts, "::")
}

// legacyRustName reads parts with their lengths, up to a hash.
func legacyRustName(rest string) string {
	var parts []string
	for rest != "" && rest[0] != 'E' {
		part, behind, ok := countedText(rest)
		if !ok {
			return ""
		}
		parts, rest = append(parts, legacyPart(part)), behind
	}
	if n := len(parts); n > 1 && len(parts[n-1]) == 17 && parts[n-1][0] == 'h' {
		parts = parts[:n-1]
	}
	return strings.Join(parts, "::")
}

// countedText reads a decimal length and as much text.
func countedText(s string) (text, behind string, ok bool) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.Atoi(s[:digits])
	if err != nil || n > len(s)-digits {
		return "", "", false
	}
	return s[digits : digits+n], s[digits+n:], true
}

var legacyEscapes = map[string]string{
	"BP": "*", "C": ",", "GT": ">", "LP": "(", "LT": "<", "RF": "&", "RP": ")", "SP": "@",
}

// legacyPart reads the escapes of a part: "$LT$", "$u20$", and ".." for "::".
func legacyPart(part string) string {
	if strings.HasPrefix(part, "_$") {
		part = part[1:]
	}
	var out strings.Builder
	for {
		before, escaped, found := strings.Cut(part, "$")
		out.WriteString(strings.ReplaceAll(before, "..", "::"))
		if !found {
			return out.String()
		}
		escape, behind, ended := strings.Cut(escaped, "$")
		char, known := legacyEscapes[escape]
		if code, err := strconv.ParseUint(strings.TrimPrefix(escape, "u"), 16, 7); !known &&
			strings.HasPrefix(escape, "u") && err == nil {
			char, known = string(rune(code)), true
		}
		if !ended || !known {
			out.WriteString("$")
			part = escaped
			continue
		}
		out.WriteString(char)
		part = behind
	}
}

// newRustName reads the scheme that the compiler calls v0. Generic arguments are read and left out,
// as they are not in names of the old scheme either. The host does not need to know all of it: an
// unknown part makes the name unreadable.
func newRustName(s string) string {
	d := &rustNameReader{s: s, steps: maxRustNameSteps, room: maxRustNameText}
	name := d.path()
	if d.failed {
		return ""
	}
	return name
}

// Bounds of reading a name, in which a part can refer to earlier ones: so the result may be much
// longer than the name.
const (
	maxRustSymbol    = 4096
	maxRustNameSteps = 1000
	maxRustNameText  = 16 * maxRustSymbol // bytes of all texts that were put together, those of parts included
)

type rustNameReader struct {
	s      string
	at     int
	steps  int
	room   int // bytes of text that may still be put together
	failed bool
}

// next is the next byte; 0 if there is none, or if enough was read.
func (d *rustNameReader) next() byte {
	if d.steps--; d.failed || d.steps < 0 || d.at >= len(d.s) {
		d.failed = true
		return 0
	}
	d.at++
	return d.s[d.at-1]
}

// take reads one byte if it matches.
func (d *rustNameReader) take(b byte) bool {
	if d.failed || d.at >= len(d.s) || d.s[d.at] != b {
		return false
	}
	return d.next() == b
}

// text puts parts together.
func (d *rustNameReader) text(parts ...string) string { return d.join(parts, "") }

// join is [strings.Join] as long as there is room.
func (d *rustNameReader) join(parts []string, separator string) string {
	for _, part := range parts {
		d.room -= len(part) + len(separator)
	}
	if d.failed = d.failed || d.room < 0; d.failed {
		return ""
	}
	return strings.Join(parts, separator)
}

// number reads a number to the base of 62 that ends with "_".
func (d *rustNameReader) number() (n int) {
	if d.take('_') {
		return 0
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for {
		b := d.next()
		digit := strings.IndexByte(digits, b)
		switch {
		case b == '_':
			return n + 1
		case digit < 0 || d.failed:
			d.failed = true
			return 0
		}
		n = min(n*62+digit, 1<<30) // disambiguators of crates are larger, and not needed
	}
}

// optional reads a number behind a mark, if it is there.
func (d *rustNameReader) optional(mark byte) {
	if d.take(mark) {
		d.number()
	}
}

func (d *rustNameReader) identifier() string {
	d.optional('s')
	punycode := d.take('u')
	if d.failed {
		return ""
	}
	digits := len(d.s[d.at:]) - len(strings.TrimLeft(d.s[d.at:], "0123456789"))
	if strings.HasPrefix(d.s[d.at:], "0") {
		digits = 1
	}
	n, err := strconv.Atoi(d.s[d.at : d.at+digits])
	d.at += digits
	d.take('_') // it is there if the text begins with a digit or with "_"
	if err != nil || n > len(d.s)-d.at || punycode {
		d.failed = true
		return ""
	}
	d.at += n
	return d.s[d.at-n : d.at]
}

// back reads an earlier part of the name.
func (d *rustNameReader) back(read func() string) string {
	mark := d.at - 1
	to, behind := d.number(), d.at
	if d.failed || to >= mark {
		d.failed = true
		return ""
	}
	d.at = to
	text := read()
	d.at = behind
	return text
}

func (d *rustNameReader) path() string {
	switch d.next() {
	case 'C': // a crate
		return d.identifier()
	case 'M': // of a type
		d.optional('s')
		d.path()
		return d.typeName()
	case 'X': // of a type, by a trait
		d.optional('s')
		d.path()
		return d.text("<", d.typeName(), " as ", d.path(), ">")
	case 'Y':
		return d.text("<", d.typeName(), " as ", d.path(), ">")
	case 'N':
		kind, outer := d.next(), d.path()
		inner := d.identifier()
		switch {
		case kind == 'C':
			inner = "{{closure}}"
		case inner == "":
			inner = "_"
		}
		return d.text(outer, "::", inner)
	case 'I':
		name := d.path()
		d.list(d.argument)
		return name
	case 'B':
		return d.back(d.path)
	}
	d.failed = true
	return ""
}

// list reads as many as there are until an "E".
func (d *rustNameReader) list(read func() string) (all []string) {
	for !d.failed && !d.take('E') {
		all = append(all, read())
	}
	return all
}

// argument reads a generic argument.
func (d *rustNameReader) argument() string {
	switch {
	case d.take('L'):
		d.number()
		return "'_"
	case d.take('K'):
		return d.constant()
	}
	return d.typeName()
}

func (d *rustNameReader) constant() string {
	switch {
	case d.take('p'):
		return "_"
	case d.take('B'):
		return d.back(d.constant)
	}
	d.typeName()
	for !d.failed && !d.take('_') {
		if !strings.ContainsRune("n0123456789abcdef", rune(d.next())) {
			d.failed = true
		}
	}
	return "_"
}

// basicTypes are the types named by a letter.
var basicTypes = map[byte]string{
	'a': "i8",
	'b': "bool",
	'c': "char",
	'd': "f64",
	'e': "str",
	'f': "f32",
	'h': "u8",
	'i': "isize",
	'j': "usize",
	'l': "i32",
	'm': "u32",
	'n': "i128",
	'o': "u128",
	'p': "_",
	's': "i16",
	't': "u16",
	'u': "()",
	'v': "...",
	'x': "i64",
	'y': "u64",
	'z': "!",
}

func (d *rustNameReader) typeName() string {
	b := d.next()
	if basic, ok := basicTypes[b]; ok {
		return basic
	}
	switch b {
	case 'A':
		element := d.typeName()
		return d.text("[", element, "; ", d.constant(), "]")
	case 'S':
		return d.text("[", d.typeName(), "]")
	case 'T':
		return d.text("(", d.join(d.list(d.typeName), ", "), ")")
	case 'R', 'Q':
		d.optional('L')
		if b == 'Q' {
			return d.text("&mut ", d.typeName())
		}
		return d.text("&", d.typeName())
	case 'P':
		return d.text("*const ", d.typeName())
	case 'O':
		return d.text("*mut ", d.typeName())
	case 'F':
		return d.functionType()
	case 'D':
		d.optional('G')
		bounds := d.list(d.bound)
		if !d.take('L') {
			d.failed = true
		}
		d.number()
		return d.text("dyn ", d.join(bounds, " + "))
	case 'B':
		return d.back(d.typeName)
	}
	if d.failed {
		return ""
	}
	d.at--
	return d.path()
}

func (d *rustNameReader) functionType() string {
	d.optional('G')
	d.take('U')
	if d.take('K') && !d.take('C') {
		d.identifier()
	}
	arguments := d.list(d.typeName)
	d.typeName()
	return d.text("fn(", d.join(arguments, ", "), ")")
}

// bound reads a trait with its types.
func (d *rustNameReader) bound() string {
	name := d.path()
	for d.take('p') {
		d.identifier()
		d.typeName()
	}
	return name
}
