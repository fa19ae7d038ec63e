package execution

import (
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/publish"
	"github.com/cruster/cruster/host/execution/rebuild"
	"github.com/cruster/cruster/host/execution/recode"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/host/residency"
	"github.com/cruster/cruster/journal"
)

// runDeps are the services that all runs of a host share. They name neither runs nor their registry: a run knows
// others by their boxes.
type runDeps struct {
	*Deps
	answers   *answers
	boxes     boxes
	group     *actor.TaskGroup   // the goroutines of runs and of their tasks
	inboxes   request.InboxLocks // that order senders and runs
	instances *instance.Deps
	metrics   *metrics
	publisher publish.Publisher
	recoder   *recode.Recoder
	resident  *residency.List
	rows      request.Rows
	states    *rebuild.States
	stopped   stopListener
	tasks     *task.Performer
	updates   *request.Updates
}

// stopListener is told of requests to stop that are in inboxes.
type stopListener interface {
	// tellStopped tells the executions that they are asked to stop.
	tellStopped(sent []journal.Sent)
}
