package cruster

import (
	"reflect"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// stateType describes the states of one type of entity.
type stateType[S any] struct {
	name     string
	onCreate func(*EntityContext, *S) error
	// plain says that an assignment copies all of a state.
	plain bool
}

// state is the state of one entity while operations run on it.
type state[S any] struct {
	of    *stateType[S]
	value S
	kept  S
}

var _ guest.State = (*state[int])(nil)

// Decode implements [guest.State].
func (s *state[S]) Decode(data []byte) (err error) {
	s.value, err = decode[S](data)
	return err
}

// Assign implements [guest.State].
func (s *state[S]) Assign(migrated any) { s.value = migrated.(S) }

// Create implements [guest.State].
func (s *state[S]) Create(r *guest.OperationRun) error {
	var zero S
	s.value = zero
	if s.of.onCreate == nil {
		return nil
	}
	return s.of.onCreate(newEntityContext(r), &s.value)
}

// Encode implements [guest.State].
func (s *state[S]) Encode() ([]byte, error) {
	if b, ok := guest.AppendScalar(nil, s.value); ok {
		return b, nil
	}
	return abi.Marshal(&s.value)
}

// Keep implements [guest.State].
func (s *state[S]) Keep() bool {
	if s.of.plain {
		s.kept = s.value
	}
	return s.of.plain
}

// Restore implements [guest.State].
func (s *state[S]) Restore() { s.value = s.kept }

// isPlain tells whether values of a type share nothing with their copies.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Array:
		return isPlain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if t != reflect.TypeFor[time.Time]() && !isPlain(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}
