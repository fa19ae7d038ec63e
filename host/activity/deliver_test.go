package activity

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestDeliver has the execution commit a transaction with the turn that it causes, or not, and the commit succeed, or
// not.
func TestDeliver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		declines bool
		commits  []error // answers of the commits
		found    bool    // the journal has the entry
		want     []int   // how many entries and updates there were in each commit
		report   Report
		voided   []uint64
	}{
		"delivered": {want: []int{2}, report: Committed{Delivered: true}},
		"declined":  {declines: true, want: []int{1}, report: Committed{}},
		"collided": {
			commits: []error{journal.ErrConflict}, want: []int{2, 1}, report: Committed{}, voided: []uint64{1},
		},
		"in doubt, there": {
			commits: []error{journal.ErrUndecided}, found: true, want: []int{2}, report: Committed{},
		},
		"in doubt, not there": {
			commits: []error{journal.ErrUndecided}, want: []int{2, 1}, report: Committed{}, voided: []uint64{1},
		},
		"declined and collided": {
			declines: true,
			commits:  []error{journal.ErrConflict},
			want:     []int{1, 1},
			report:   Committed{},
			voided:   []uint64{1},
		},
		"refused": {
			commits: []error{abi.Errorf(abi.CodeSQL, "constraint violated")},
			want:    []int{2},
			report:  Failed{},
			voided:  []uint64{1},
		},
		"fenced": {commits: []error{journal.ErrFenced}, want: []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, withSQL)
				b.commits = c.commits
				if c.found {
					b.found = []journal.Entry{{Kind: journal.Delivery, Seq: 1, Op: b.task.Op}}
				}
				asked := 0
				b.task.Deliver = func(entry journal.Entry, commit func(journal.Write) error) (bool, error) {
					asked++
					if c.declines {
						return false, nil
					}
					w := journal.Write{
						ID:      b.task.Row.ID,
						Run:     b.task.Row.Run,
						Entries: []journal.Entry{entry},
						Update:  &journal.Update{},
					}
					err := commit(w)
					return err == nil, err
				}
				report := b.Perform(t.Context(), b.task)
				require.IsType(t, c.report, report)
				if committed, is := report.(Committed); is {
					require.Equal(t, c.report.(Committed).Delivered, committed.Delivered)
				}
				require.Equal(t, 1, asked, "it is asked for the first transaction of an attempt")
				require.Equal(t, c.want, b.parts)
				require.Equal(t, c.voided, b.voided)
			})
		})
	}
}
