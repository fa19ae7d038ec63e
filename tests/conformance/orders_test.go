package conformance

import (
	"strings"
	"testing"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
)

// orderCases let three steps that run at the same time end in every possible
// order: three activities that wait at a gate, and three deferreds.
func orderCases() []testCase {
	var cases []testCase
	for _, order := range [][]string{
		{"left", "middle", "right"},
		{"left", "right", "middle"},
		{"middle", "left", "right"},
		{"middle", "right", "left"},
		{"right", "left", "middle"},
		{"right", "middle", "left"},
	} {
		name := strings.Join(order, ", ")
		cases = append(cases,
			testCase{
				name: "activities end " + name, workflow: "Order", input: object{"by": "activity"},
				want:    object{"order": order, "values": []string{"through left", "through middle", "through right"}},
				journal: []string{"activity pass", "activity pass", "activity pass"},
				drive: inOrder(order, func(t *testing.T, b *testBundle, execution, step string) {
					b.outside.open(b, execution, step)
				}),
			},
			testCase{
				name: "deferreds end " + name, workflow: "Order", input: object{"by": "deferred"},
				want:    object{"order": order, "values": []string{"for left", "for middle", "for right"}},
				journal: []string{"deferred " + order[0], "deferred " + order[1], "deferred " + order[2]},
				drive: inOrder(order, func(t *testing.T, b *testBundle, execution, step string) {
					resolve(t, b, execution, step, "for "+step)
				}),
			})
	}
	return cases
}

// inOrder ends one step after the other: each one after the previous one was
// delivered.
func inOrder(order []string, end func(t *testing.T, b *testBundle, execution, step string)) func(*testing.T, *testBundle, string) {
	return func(t *testing.T, b *testBundle, execution string) {
		for i, step := range order {
			harness.Eventually(t, "the previous step is delivered", func() bool {
				d, err := b.engine.Describe(t.Context(), "", execution)
				return err == nil && d.Entries == i && len(d.Pending) == 1+len(order)-i && d.Pending[0].Kind == abi.OpInterrupted
			})
			end(t, b, execution, step)
		}
	}
}
