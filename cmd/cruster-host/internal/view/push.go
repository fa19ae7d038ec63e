package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Push is the JSON of a push: the deployment and, if open executions were to be moved to it, their
// outcomes.
type Push struct {
	Deployment
	Size         *ModuleSize `json:"size,omitempty"`
	Moved        *uint32     `json:"moved,omitempty"`
	Unmoved      *uint32     `json:"unmoved,omitempty"`
	FirstUnmoved *Moved      `json:"first_unmoved,omitempty"`
}

// PushOf is the shape of a push; moveOpen says that open executions were to be moved.
func PushOf(r *crusterv1.PushResult, size *ModuleSize, moveOpen bool) Push {
	v := Push{Deployment: DeploymentOf(r.GetDeployment()), Size: size}
	if !moveOpen {
		return v
	}
	moved, unmoved := r.GetMoved(), r.GetUnmoved()
	v.Moved, v.Unmoved = &moved, &unmoved
	if r.GetFirstUnmoved() != nil {
		first := MovedOf(r.GetFirstUnmoved())
		v.FirstUnmoved = &first
	}
	return v
}

// WritePush writes the pushed deployment, the outcomes of the moves of open executions, and a
// command that runs the first workflow.
func WritePush(w io.Writer, r *crusterv1.PushResult, size *ModuleSize, moveOpen bool, addrFlag string) error {
	d := r.GetDeployment()
	all := []terminal.Line{
		{Name: "deployment", Value: d.GetName()},
		{Name: "version", Value: strconv.FormatInt(d.GetVersion(), 10)},
		{Name: "digest", Value: shortDigest(d.GetDigest())},
		{Name: "workflows", Value: workflowNames(d)},
		{Name: "config", Value: strings.Join(d.GetConfigKeys(), ", ")},
		{Name: "allow-http", Value: strings.Join(d.GetAllowHttp(), ", ")},
	}
	all = append(all, size.lines()...)
	if moveOpen {
		all = append(all, terminal.Line{
			Name: "moved", Value: fmt.Sprintf("%d of %d open executions", r.GetMoved(), r.GetMoved()+r.GetUnmoved()),
		})
	}
	if err := terminal.Lines(w, all...); err != nil {
		return err
	}
	if first := r.GetFirstUnmoved(); first != nil {
		v := MovedOf(first)
		fmt.Fprintf(
			w, "\nThe first that stays where it is: %s\n  %s\n", terminal.OneLine(v.Execution),
			terminal.OneLine(FirstLine(v.Error.Text())),
		)
		if first.GetDiff() != nil {
			if err := WriteDiff(w, first.GetDiff()); err != nil {
				return err
			}
		}
	}
	if len(d.GetWorkflows()) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nnext:  %s\n", executeCommand(d, d.GetWorkflows()[0], addrFlag))
	return err
}
