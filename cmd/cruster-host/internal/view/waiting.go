package view

import (
	"fmt"
	"strings"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// turnKind is the kind of a pending op that stands for code which computes.
const turnKind = "turn"

// maxWaits is how many ops a line names.
const maxWaits = 3

// WaitsFor describes in a line the waits of an execution; empty if it has none.
func WaitsFor(d *crusterv1.GetExecutionResponse) string {
	var named []string
	others := int(d.GetDetails().GetPendingOmitted())
	for _, p := range d.GetDetails().GetPending() {
		switch {
		case listens(p):
		case len(named) < maxWaits:
			named = append(named, terminal.OneLine(waitText(p)))
		default:
			others++
		}
	}
	if len(named) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s  waits for %s", terminal.OneLine(d.GetExecution().GetName()), strings.Join(named, "; "))
	if others > 0 {
		text += fmt.Sprintf("; and %d more", others)
	}
	if len(d.GetDetails().GetCircle()) > 0 {
		text += "; in a circle: 'workflow describe' shows it"
	}
	return text
}

// WaitsForTurn says in a line that a request to an execution waits for its code, which computes; nothing if it does
// not.
func WaitsForTurn(d *crusterv1.GetExecutionResponse) string {
	for _, p := range d.GetDetails().GetPending() {
		if p.GetKind() == turnKind {
			return terminal.OneLine(fmt.Sprintf(
				"the code of %s has been computing since %s; the request is taken when its turn ends",
				d.GetExecution().GetName(), timeText(p.GetIssueTime()),
			))
		}
	}
	return ""
}

// WaitsForLock says in a line that a call waits for the lock of its entity; nothing if the entity has none.
func WaitsForLock(locks []*crusterv1.EntityLock, entity string) string {
	for _, l := range locks {
		if l.GetEntity() == entity {
			return terminal.OneLine(fmt.Sprintf(
				"%s has been locked by %s since %s; the call is performed when the lock is released",
				entity, l.GetHolder(), timeText(l.GetLockTime()),
			))
		}
	}
	return ""
}

// listens tells whether an op is a listener that every execution has, for interrupts and, if it
// takes any, for updates: it does not wait for them.
func listens(p *crusterv1.PendingOp) bool {
	return p.GetKind() == abi.OpInterrupted || p.GetKind() == abi.OpUpdate
}

// waitText describes the wait of an op.
func waitText(p *crusterv1.PendingOp) string {
	if p.GetKind() == turnKind {
		return "its own code, which computes since " + timeText(p.GetIssueTime())
	}
	text := strings.TrimSpace(p.GetKind() + " " + terminal.Clip(p.GetName(), 40))
	if callee := p.GetCallee(); callee != "" {
		return fmt.Sprintf("%s, which is %s", callee, client.StateOf(p.GetCalleeState()))
	}
	if p.GetAttempt() > 1 {
		text += fmt.Sprintf(", attempt %d", p.GetAttempt())
	}
	if due := timeText(p.GetDueTime()); due != "" {
		text += " at " + due
	}
	if last := ErrorOf(p.GetLastError()); last != nil {
		text += " after " + terminal.Clip(FirstLine(last.Text()), 80)
	}
	return text
}
