package convert

import (
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

// Diff makes a message of a difference; nil stays nil.
func Diff(d *host.Diff) *crusterv1.Diff {
	if d == nil {
		return nil
	}
	p := &crusterv1.Diff{Before: uint32(d.Before), After: uint32(d.After)}
	for _, r := range d.Rows {
		p.Rows = append(p.Rows, &crusterv1.DiffRow{
			Journal: rpcerror.Text(r.Journal), Code: rpcerror.Text(r.Code), Note: rpcerror.Text(r.Note),
		})
	}
	return p
}

// CheckResponse makes a message of the finding of a check for one execution.
func CheckResponse(r host.CheckResult, done, total int) (*crusterv1.CheckModuleResponse, error) {
	exec, err := ListedExecution(r.Execution)
	if err != nil {
		return nil, err
	}
	return &crusterv1.CheckModuleResponse{
		Done:      uint32(done),
		Total:     uint32(total),
		Execution: exec,
		Fits:      r.Fits,
		Reason:    rpcerror.Text(r.Reason),
		Diff:      Diff(r.Diff),
	}, nil
}
