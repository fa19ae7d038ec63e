package wasm

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// rustName is the name of a function as it is written, without hashes, generic arguments and what
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
		name = inherent(newRustName(symbol))
	default:
		return symbol
	}
	return withoutGenerated(name)
}

// Bounds of a name, in which a part can refer to earlier ones: so what is made of it may be much
// longer than it is.
const (
	maxRustSymbol   = 4096
	maxRustNameBits = 12 // of the length of what is made of it
)

// newRustName reads the scheme that the compiler calls v0; what is left of generic arguments is "<>". It is empty if the name
// cannot be read. The library has the old scheme too, but takes an underscore off the parts that begin with one.
func newRustName(symbol string) (name string) {
	defer func() {
		if recover() != nil { // the reader has not met what a guest may make up
			name = ""
		}
	}()
	name, err := demangle.ToString(symbol, demangle.NoTemplateParams, demangle.MaxLength(maxRustNameBits))
	if err != nil || len(name) >= 1<<maxRustNameBits {
		return ""
	}
	return name
}

// inherent names a method of a type as a path, without generic arguments: "<orders::Book<>>::sell" is
// "orders::Book::sell". One of a trait stays "<orders::Book as core::fmt::Display>::fmt".
func inherent(name string) string {
	name = strings.NewReplacer("::<>", "", "<>", "").Replace(name)
	depth := 0
	for i, c := range name {
		switch {
		case c == '<':
			depth++
		case c == '>' && i > 0 && name[i-1] != '-': // that of "->"
			depth--
		}
		if depth > 0 {
			continue
		}
		if i == 0 || strings.Contains(name[:i], " as ") {
			return name
		}
		return name[1:i] + name[i+1:]
	}
	return name
}

// isRustSymbol tells whether a name is one that the Rust compiler has made.
func isRustSymbol(name string) bool {
	return strings.HasPrefix(name, "_ZN") || strings.HasPrefix(name, "_R")
}

// isRustAuthors tells whether a function is the user's or that of a library, by its name as it is written:
// whether it is neither of the SDK nor of what comes with the language.
func isRustAuthors(name string) bool {
	crate := crateOf(name)
	return crate != "" && !strings.HasPrefix(crate, "__") && !strings.HasPrefix(crate, "cruster_") && !slices.Contains(foreignCrates, crate)
}

var foreignCrates = []string{"alloc", "compiler_builtins", "core", "cruster", "dlmalloc", "hashbrown", "std", "wasi"}

// crateOf is the crate of a function, or that of the type whose method it is. Of a type without a crate,
// as numbers are, the trait tells. It is empty if there is none.
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

// isBasicType tells whether a name is that of a type without a crate.
func isBasicType(name string) bool {
	switch name {
	case "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32", "f64":
		return true
	default:
		return false
	}
}

// withoutGenerated leaves out what is not in the author's source: closures that async functions are
// made of, and names that the macros of the SDK give to "self" and to blocks.
func withoutGenerated(name string) string {
	parts := strings.Split(name, "::")
	parts = slices.DeleteFunc(parts, func(part string) bool {
		return part == "_" || part == "{{closure}}" || strings.HasPrefix(part, "{closure#")
	})
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

var legacyEscapes = map[string]string{"BP": "*", "C": ",", "GT": ">", "LP": "(", "LT": "<", "RF": "&", "RP": ")", "SP": "@"}

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
		if code, err := strconv.ParseUint(strings.TrimPrefix(escape, "u"), 16, 7); !known && strings.HasPrefix(escape, "u") && err == nil {
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
