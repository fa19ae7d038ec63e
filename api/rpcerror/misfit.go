package rpcerror

import (
	"google.golang.org/grpc/status"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// Misfit is the error of a module that does not fit the journal of an execution. It wraps the
// *abi.Error, and holds the differences.
type Misfit struct {
	Cause *abi.Error
	Diff  *crusterv1.Diff
}

func (m *Misfit) Error() string { return m.Cause.Error() }

func (m *Misfit) Unwrap() error { return m.Cause }

// NotCompared is the note of a row that is no difference: a step that the code may reach behind a
// differing one.
const NotCompared = "not compared"

// Differs tells whether something is wrong with a row of a diff.
func Differs(r *crusterv1.DiffRow) bool { return r.GetNote() != "" && r.GetNote() != NotCompared }

// A diff in a trailer is cut to the rows around the first that differs.
const (
	maxDiffRows  = 12
	diffRowsLead = 4
	maxDiffText  = 120
)

// WithDiff adds the differences to the details of a status, cut to the room of a trailer.
func WithDiff(st *status.Status, diff *crusterv1.Diff) *status.Status {
	with, err := st.WithDetails(clipDiff(diff))
	if err != nil { // only the code OK has no details
		return st
	}
	return with
}

func clipDiff(diff *crusterv1.Diff) *crusterv1.Diff {
	from, to := 0, len(diff.GetRows())
	if to > maxDiffRows {
		for from < to && !Differs(diff.GetRows()[from]) {
			from++
		}
		from = max(0, min(from-diffRowsLead, to-maxDiffRows))
		to = from + maxDiffRows
	}
	clipped := &crusterv1.Diff{
		Before: diff.GetBefore() + uint32(from), After: diff.GetAfter() + uint32(len(diff.GetRows())-to),
	}
	for _, r := range diff.GetRows()[from:to] {
		clipped.Rows = append(clipped.Rows, &crusterv1.DiffRow{
			Journal: clip(r.GetJournal(), maxDiffText),
			Code:    clip(r.GetCode(), maxDiffText),
			Note:    clip(r.GetNote(), maxDiffText),
		})
	}
	return clipped
}
