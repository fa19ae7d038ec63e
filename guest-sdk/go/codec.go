package cruster

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// decode decodes a value of the application. A plain one stays off the heap.
func decode[T any](data []byte) (T, error) {
	var v T
	if guest.DecodeScalar(data, &v) {
		return v, nil
	}
	return decodeAny[T](data)
}

func decodeAny[T any](data []byte) (v T, err error) {
	if _, none := any(v).(None); none && guest.IsNil(data) {
		return v, nil
	}
	return v, abi.Unmarshal(data, &v)
}

// encode encodes a value of the application; the arguments what and name say which in errors.
func encode[T any](what, name string, v T) ([]byte, error) {
	if b, ok := guest.AppendScalar(nil, v); ok {
		return b, nil
	}
	return guest.Encode(what+name, v)
}
