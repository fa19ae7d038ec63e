//go:build !wasip1

package cruster

import "github.com/cruster/cruster/guest-sdk/go/internal/guest"

// crustertest makes the contexts that stubs run with.
func init() {
	guest.NewActivityContext = func(a guest.Attempt) any { return newActivityContext(a) }
}
