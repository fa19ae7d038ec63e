package execution

import (
	"log/slog"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/publish"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/journal"
)

// run is an execution in memory: see the package comment. All of it belongs to its goroutine (there
// is at most one), except for the ledger: transactions of activities reserve their numbers there.
type run struct {
	deps *runDeps
	id   journal.ID
	run  journal.RunID // the run of all fields below; zero until the first load
	// chain is the first of the runs that this one continues, or itself.
	chain journal.RunID
	log   *slog.Logger

	life      lifetime
	row       *journal.Execution // nil until loaded
	ledger    *sharedledger.Ledger
	instance  *instance.Instance
	progress  progress
	failures  failures
	hand      hand
	tasks     *task.Set
	mail      mail
	length    lengthWarning
	published *publish.Values

	input        heldInput
	mailMemory   mailMemory
	carried      ledger.CarriedOver // outcomes and attempts, during a reload
	eagerStart   *eagerStart        // the first turn, begun before the start was durable; or nil
	pendingWrite *pendingWrite      // a write that the store has not taken yet
	stuck        *abi.Error         // reason to pause it once all is delivered
	rowWrites    uint64             // counts the writes of the row, and when it may have been written
	requested    bool               // something was asked of it since its last turn; more may follow
	idle         bool               // nothing keeps the run in memory
	behind       bool               // it takes no turns ahead of a transaction: see ahead.go
}

func newRun(deps *runDeps, id journal.ID) *run {
	l := sharedledger.New()
	return &run{
		deps: deps, id: id, log: deps.Logger,
		ledger:    l,
		instance:  instance.New(deps.instances, id),
		tasks:     deps.tasks.NewSet(id, l),
		mail:      newMail(),
		published: publish.NewValues(deps.publisher, deps.rows),
		carried:   ledger.NewCarriedOver(),

		mailMemory: mailMemory{queued: deps.Queued},
	}
}

// waitingNow returns the waiting state of the run, as far as it is loaded and all effects of its
// turns are durable.
func (r *run) waitingNow() (now journal.Waiting) {
	if r.life.phase != live {
		return r.row.Waiting
	}
	r.ledger.With(func(l *ledger.Ledger) { now = l.WaitingAfter(nil) })
	return now
}

// notFor tells why a notice is not for this run; nil if it is.
func (r *run) notFor(m notice) error { return addressedElsewhere(m, r.run, r.chain) }

// startTasks sets the host to work for the ops that need it: see [task.Set.StartAll].
func (r *run) startTasks() {
	r.tasks.StartAll(task.Run{Row: r.row, RowWrites: r.rowWrites, Left: r.instance.Left()})
}
