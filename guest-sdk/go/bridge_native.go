//go:build !wasip1

package cruster

import "github.com/cruster/cruster/guest-sdk/go/internal/guest"

// noteRunning says which attempt this goroutine runs: a test runs many at a time.
func noteRunning(of any) { guest.NoteRunning(of) }

// crustertest makes the contexts that stubs run with.
func init() {
	guest.NewActivityContext = func(a guest.Attempt) (any, func()) {
		c := newActivityContext(a)
		return c, c.within.end
	}
	guest.PackageOf = func(handle any) string { return handle.(interface{ registrant() string }).registrant() }
}

func (w *Workflow[Req, Res]) registrant() string { return w.registered.Package }
func (a *Activity[In, Out]) registrant() string  { return a.registered.Package }
func (e *StatefulEntity[S]) registrant() string  { return e.registered.Package }

func (o *Operation[In, Out]) registrant() string {
	if o.of == nil {
		return ""
	}
	return o.of.Package
}
