//go:build !wasip1

package cruster

import "github.com/cruster/cruster/guest-sdk/go/internal/guest"

// noteRunning does nothing: a test runs many attempts at a time.
func noteRunning(any) {}

// crustertest makes the contexts that stubs run with.
func init() {
	guest.NewActivityContext = func(a guest.Attempt) (any, func()) {
		c := newActivityContext(a)
		return c, c.within.end
	}
}
