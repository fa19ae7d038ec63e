package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// A reading is how code takes values that code of an earlier type wrote.
type reading struct {
	// fills says that what is absent or null is read as zero, as Go does.
	fills bool
	// optional says that what may be null may be absent, as an Option of serde.
	optional bool
}

// misfits lists what values of the earlier type may have that code of the type of now does not take, or
// would lose, at a path. A type that says nothing of its values, such as one that encodes itself, fits:
// only a call can tell.
func (r reading) misfits(old, updated *abi.Schema, path string) []string {
	switch {
	case isAny(old) || isAny(updated):
		return nil
	case old.Nullable && !updated.Nullable && updated.Type != abi.TypeNull && !r.fills:
		return []string{fmt.Sprintf("%smay not be null any more, and was %s", subject(path), old)}
	case old.Type == abi.TypeStruct && updated.Type == abi.TypeStruct:
		return r.fieldMisfits(old, updated, path)
	case old.Type == updated.Type && (old.Type == abi.TypeList || old.Type == abi.TypeMap):
		return r.misfits(old.Elem, updated.Elem, path+"[]")
	case !holds(updated, old):
		return []string{fmt.Sprintf("%sis %s, and was %s", subject(path), updated, old)}
	}
	return nil
}

func (r reading) fieldMisfits(old, updated *abi.Schema, path string) (misfits []string) {
	for _, f := range old.Fields {
		name := strings.TrimPrefix(path+"."+f.Name, ".")
		if now := fieldOfName(updated, f.Name); now != nil {
			misfits = append(misfits, r.misfits(f.Schema, now.Schema, name)...)
		} else {
			misfits = append(misfits, subject(name)+"is gone")
		}
	}
	for _, f := range updated.Fields {
		before := fieldOfName(old, f.Name)
		if f.Required && !r.fills && (before == nil || !before.Required) && !(r.optional && isOption(f.Schema)) {
			misfits = append(misfits, subject(strings.TrimPrefix(path+"."+f.Name, "."))+"is required now")
		}
	}
	return misfits
}

// isOption tells whether a type is one whose values may be null because it says so. Lists, maps and bytes always may.
func isOption(s *abi.Schema) bool {
	return s != nil && s.Nullable && !slices.Contains([]string{abi.TypeAny, abi.TypeList, abi.TypeMap, abi.TypeBytes}, s.Type)
}

// summary joins misfits for a message.
func summary(misfits []string) string {
	const most = 5
	if more := len(misfits) - most; more > 0 {
		misfits = append(slices.Clip(misfits[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(misfits, "; ")
}

// holds tells whether a type that is neither a list, a map nor a struct holds all values of another.
func holds(updated, old *abi.Schema) bool {
	if updated.Type != old.Type {
		// A number of zero or more is written alike by both types of integers.
		return updated.Type == abi.TypeInt && old.Type == abi.TypeUint && bits(updated) > bits(old)
	}
	return bits(updated) >= bits(old)
}

// bits is the width of a number.
func bits(s *abi.Schema) int {
	if s.Bits == 0 {
		return 64
	}
	return s.Bits
}

func isAny(s *abi.Schema) bool { return s == nil || s.Type == abi.TypeAny }

func fieldOfName(s *abi.Schema, name string) *abi.Field {
	i, found := slices.BinarySearchFunc(s.Fields, name, func(f abi.Field, name string) int { return strings.Compare(f.Name, name) })
	if !found {
		return nil
	}
	return &s.Fields[i]
}

// subject begins what is said of the value at a path; of the whole value it needs no name.
func subject(path string) string {
	if path == "" {
		return "it "
	}
	return fmt.Sprintf("%.80q ", path)
}
