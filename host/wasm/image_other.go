//go:build !linux

package wasm

import "errors"

// imageFile exists on Linux only. Elsewhere images are copied.
type imageFile struct{ view []byte }

func newImageFile([]byte) (*imageFile, error) { return nil, errors.ErrUnsupported }

func (*imageFile) mapOver([]byte) bool { return false }

func (*imageFile) close() {}

func writtenTo([]byte) ([]span, bool) { return nil, false }

func forget([]byte) bool { return false }

func shut([]byte) bool { return false }
