package guest

import (
	"cmp"
	"encoding"
	"maps"
	"reflect"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cruster/cruster/abi"
)

var ownDecoding = []reflect.Type{
	reflect.TypeFor[msgpack.CustomDecoder](), reflect.TypeFor[msgpack.Unmarshaler](),
	reflect.TypeFor[encoding.BinaryUnmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}

// warmTypes has the codec look at the structs that the module takes and returns: it reads their tags when it first sees
// them, which takes longer than many a step.
func (r *Registry) warmTypes() {
	seen := map[reflect.Type]bool{}
	for _, body := range ofCalls {
		warmType(body, seen)
	}
	for _, name := range slices.Sorted(maps.Keys(r.activities)) {
		warmType(r.activities[name].Input, seen)
		warmType(r.activities[name].Output, seen)
	}
	for _, name := range slices.Sorted(maps.Keys(r.workflows)) {
		warmType(r.workflows[name].Input, seen)
		warmType(r.workflows[name].Output, seen)
		r.workflows[name].warmMessages(seen)
	}
	for _, name := range slices.Sorted(maps.Keys(r.entities)) {
		r.entities[name].warmTypes(seen)
	}
}

// ofCalls are the bodies of activities' calls to the host, and of its answers.
var ofCalls = []reflect.Type{
	reflect.TypeFor[abi.ConfigRequest](), reflect.TypeFor[abi.ConfigReply](),
	reflect.TypeFor[abi.HTTPRequest](), reflect.TypeFor[abi.HTTPResponse](),
}

func (w *Workflow) warmMessages(seen map[reflect.Type]bool) {
	for _, s := range w.Signals {
		warmType(s.Value, seen)
	}
	for _, d := range w.Deferreds {
		warmType(d.Value, seen)
	}
	for _, u := range w.Updates {
		warmType(u.Input, seen)
		warmType(u.Output, seen)
	}
	for _, s := range w.State {
		warmType(s.Type, seen)
	}
}

func (e *Entity) warmTypes(seen map[reflect.Type]bool) {
	if e.State != nil {
		warmType(e.State.Type, seen)
	}
	for _, name := range slices.Sorted(maps.Keys(e.operations)) {
		warmType(e.operations[name].Input, seen)
		warmType(e.operations[name].Output, seen)
	}
}

func warmType(t reflect.Type, seen map[reflect.Type]bool) {
	if t == nil || seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		warmType(t.Elem(), seen)
	case reflect.Struct:
		if t == timeType || encodesItself(t) || !warmStruct(t) {
			return
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || f.Anonymous {
				warmType(f.Type, seen)
			}
		}
	}
}

// encodesItself tells whether values of a type have code of the module encode or decode them. That must not run before
// it is called for.
func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return selfEncoded(t) != nil || slices.ContainsFunc(ownDecoding, p.Implements)
}

// warmStruct decodes a struct without fields and encodes a nil pointer to one. So no field is looked at, only its type.
// It reports false if the codec has something against it, or would complain about it: that has time until the type is
// used.
func warmStruct(t reflect.Type) (ok bool) {
	fields, _ := structFields(t, []reflect.Type{t})
	slices.SortFunc(fields, func(a, b abi.Field) int { return cmp.Compare(a.Name, b.Name) })
	if len(slices.CompactFunc(fields, func(a, b abi.Field) bool { return a.Name == b.Name })) < len(fields) {
		return false
	}
	defer func() { ok = recover() == nil && ok }()
	if abi.Unmarshal([]byte{0x80}, reflect.New(t).Interface()) != nil {
		return false
	}
	_, err := abi.Marshal(reflect.Zero(reflect.PointerTo(t)).Interface())
	return err == nil
}
