package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// A reading is how code of one type takes values that code of another type wrote, one of them before a push and
// the other after it.
type reading struct {
	// fills says that absent and null values are read as zero, as Go does.
	fills bool
	// optional says that nullable values may be absent, as an Option of serde.
	optional bool
	// ignores says that a field without a place in the code that reads is no loss: nothing writes the value back.
	ignores bool
	// back says that the code before the push reads, and the pushed code writes.
	back bool
}

// misfits lists contents of values of the type written that code of the type read does not take, or
// would lose, at a path. A type that says nothing of its values, such as a self-encoding one, fits:
// only a call can tell.
func (r reading) misfits(written, read *abi.Schema, path string) []string {
	switch {
	case isAny(written) || isAny(read):
		return nil
	case written.Nullable && !read.Nullable && read.Type != abi.TypeNull && !r.fills:
		return []string{subject(path) + r.nullMisfit(written, read)}
	case written.Type == abi.TypeStruct && read.Type == abi.TypeStruct:
		return r.fieldMisfits(written, read, path)
	case written.Type == read.Type && (written.Type == abi.TypeList || written.Type == abi.TypeMap):
		return r.misfits(written.Elem, read.Elem, path+"[]")
	case !holds(read, written):
		before, now := written, read
		if r.back {
			before, now = read, written
		}
		return []string{fmt.Sprintf("%sis %s, and was %s", subject(path), now, before)}
	}
	return nil
}

func (r reading) nullMisfit(written, read *abi.Schema) string {
	if r.back {
		return fmt.Sprintf("may be null now, and was %s", read)
	}
	return fmt.Sprintf("may not be null any more, and was %s", written)
}

func (r reading) fieldMisfits(written, read *abi.Schema, path string) (misfits []string) {
	for _, f := range written.Fields {
		name := strings.TrimPrefix(path+"."+f.Name, ".")
		if there := fieldOfName(read, f.Name); there != nil {
			misfits = append(misfits, r.misfits(f.Schema, there.Schema, name)...)
		} else if !r.ignores {
			misfits = append(misfits, subject(name)+"is gone")
		}
	}
	for _, f := range read.Fields {
		source := fieldOfName(written, f.Name)
		if f.Required && !r.fills && (source == nil || !source.Required) && !(r.optional && isOption(f.Schema)) {
			misfits = append(misfits, subject(strings.TrimPrefix(path+"."+f.Name, "."))+r.absentMisfit(source))
		}
	}
	return misfits
}

// absentMisfit explains the absence of a field that the reading code needs; source is the field
// written for it.
func (r reading) absentMisfit(source *abi.Field) string {
	switch {
	case !r.back:
		return "is required now"
	case source == nil:
		return "is gone"
	default:
		return "may be absent now"
	}
}

// isOption tells whether a type is one whose values may be null because it says so. Lists, maps and bytes always may.
func isOption(s *abi.Schema) bool {
	return s != nil && s.Nullable &&
		!slices.Contains([]string{abi.TypeAny, abi.TypeList, abi.TypeMap, abi.TypeBytes}, s.Type)
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
func holds(s, other *abi.Schema) bool {
	if s.Type != other.Type {
		// A number of zero or more is written alike by both types of integers.
		return s.Type == abi.TypeInt && other.Type == abi.TypeUint && bits(s) > bits(other)
	}
	return bits(s) >= bits(other)
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
	i, found := slices.BinarySearchFunc(s.Fields, name, func(f abi.Field, name string) int {
		return strings.Compare(f.Name, name)
	})
	if !found {
		return nil
	}
	return &s.Fields[i]
}

// subject begins a sentence about the value at a path; the whole value needs no name.
func subject(path string) string {
	if path == "" {
		return "it "
	}
	return fmt.Sprintf("%.80q ", path)
}
