// Package renewals is a workflow that continues as a new run, in versions that differ in which requests they can
// decode: their types look the same from outside.
package renewals

import (
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Declare declares the workflow, whose members have a grade that is text.
func Declare[G any](next func(G) (G, bool)) {
	type member struct {
		Grade G `json:"grade"`
	}
	gate := cruster.NewDeferred[bool]("gate")
	endless := cruster.NewQuery[cruster.None, bool]("endless")
	cruster.NewWorkflow("Member", func(ctx cruster.Context, m member) (member, error) {
		endless.Handle(ctx, func(cruster.None) (bool, error) {
			for n := 0; ; n++ {
				if n < 0 {
					return true, nil
				}
			}
		})
		if _, err := gate.Await(ctx); err != nil {
			return m, err
		}
		grade, more := next(m.Grade)
		if more {
			return m, cruster.ContinueAsNew(member{grade})
		}
		return m, nil
	}, cruster.RawKey(func(member) string { return "ada" })).Accepts(gate).Answers(endless)
}
