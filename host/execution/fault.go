package execution

import (
	"encoding/hex"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// quarantineRetry is how long a run stays quarantined before its pause is tried again.
const quarantineRetry = 30 * time.Second

// hostFault is a failure of the host itself while it worked on one execution: it panicked, or a
// stored record does not decode. It says nothing about other executions: this one is paused, and
// the process goes on.
type hostFault struct {
	hostfault.Fault                       // without a stack if nothing panicked
	damaged         *journal.DamagedEntry // nil if no entry is to blame
}

// Bounds of the fault details kept with an execution.
const (
	maxFaultStack = 8 << 10
	maxFaultBytes = 512
)

// faultBundle is the data of a bug report. It is the details of the error with which the execution
// is paused, so that it can be read as long as that is, from whatever host.
type faultBundle struct {
	Build     string `msgpack:"build"`
	Bytes     string `msgpack:"bytes,omitempty"` // the beginning of an entry that does not decode, in hex
	Delivered uint64 `msgpack:"delivered"`       // the last entry that the guest saw
	Digest    string `msgpack:"digest,omitempty"`
	Entry     uint64 `msgpack:"entry,omitempty"` // the entry that does not decode
	Go        string `msgpack:"go"`
	Stack     string `msgpack:"stack,omitempty"`
	Turn      uint64 `msgpack:"turn"`
}

// bundle collects the data of a bug report about a run at a position of its journal.
func (f *hostFault) bundle(row *journal.Execution, at replay.Position) faultBundle {
	b := faultBundle{
		Build:     build(),
		Delivered: at.Seq,
		Go:        runtime.Version(),
		Stack:     string(f.Stack[:min(len(f.Stack), maxFaultStack)]),
		Turn:      at.Turn,
	}
	if row != nil {
		b.Digest = row.Digest
	}
	if d := f.damaged; d != nil {
		b.Entry, b.Bytes = d.Seq, hex.EncodeToString(d.Bytes[:min(len(d.Bytes), maxFaultBytes)])
	}
	return b
}

// guarded runs a part of the work on one execution. It returns the fault if that panicked.
func guarded(work func()) *hostFault {
	if f := hostfault.Guard(work); f != nil {
		return &hostFault{Fault: *f}
	}
	return nil
}

// report logs the data of a bug report, without payloads. It returns the reason of the pause, which
// has all of it.
func (r *run) report(f *hostFault) *abi.Error {
	r.execs.metrics.faults.Inc()
	b := f.bundle(r.row, look(r.ledger, (*ledger.Ledger).Position))
	r.log.Error("host fault: one execution is paused, the others go on; please report this line",
		"code", abi.CodeHostFault, "id", r.id, "fault", f.What, "digest", b.Digest, "delivered", b.Delivered, "turn",
		b.Turn,
		"build", b.Build, "go", b.Go, "stack", string(f.Stack),
	)
	reason := abi.Errorf(abi.CodeHostFault, "the host failed while it worked on this execution: %s", f.What)
	reason.Details = abi.MustMarshal(&b)
	return reason
}

// build names the version of the host and its commit.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			text += " " + s.Key + "=" + s.Value
		}
	}
	return text
}

// quarantine stops the work on an execution after a fault. The state of the run may be half of the
// truth, so it is all dropped; the journal is not touched. The row is paused. As long as that is
// not possible the run stays in memory and refuses all requests but to resume and to terminate, and
// nothing is done for it but to try the pause again.
func (r *run) quarantine(notices []notice, f *hostFault) {
	r.life.quarantine(r.report(f))
	notices = append(r.tasks.resolveReserved(r.run, r.hand.takeWaiting(notices)), r.hand.takeAgain()...)
	terminates := r.terminatesAmong(notices)
	for _, letGo := range []func(){r.instance.drop, r.stopTasks} {
		if again := guarded(letGo); again != nil {
			_ = r.report(again) // the first is why it is paused
		}
	}
	r.instance.guest, r.row, r.published = nil, nil, nil
	r.pendingWrite, r.stuck, r.failures.crashes = nil, nil, 0
	r.pauseFaulty()
	if r.life.phase == quarantined {
		r.hand.waiting = terminates
	} else {
		r.hand.requeue(terminates...)
	}
	r.execs.Stops.tell(r.mail.undecided)
	r.mail.forgetUndecided()
}

// terminatesAmong takes the requests to terminate the run out of some notices, and refuses all others. Such a request
// is durable: it is heeded when the run is loaded again. That is tried once more after a fault, since it may be what
// fails; the scan for mail tries it after that.
func (r *run) terminatesAmong(notices []notice) (terminates []notice) {
	for _, m := range notices {
		var reply chan<- error
		switch m := content(m).(type) {
		case messageArrived:
			reply = m.reply
		case lookForMail:
			reply = m.reply
		}
		if reply == nil || r.run.IsZero() || r.notFor(m) != nil {
			refuseAll([]notice{m}, r.life.fault)
			continue
		}
		terminates = append(terminates, ofChain{r.chain, endAwaited{reply}})
	}
	return terminates
}

// pauseFaulty pauses the execution in quarantine, or has that tried again later.
func (r *run) pauseFaulty() {
	var err error
	if again := guarded(func() { err = r.execs.commitFaultyPause(r.id, r.chain, r.life.fault) }); again != nil {
		err = errors.New(again.What)
	}
	if err != nil && !r.execs.Host.Over() {
		r.log.Error(
			"a faulty execution could not be paused; it is held until it can be", "id", r.id, "error", err, "again",
			quarantineRetry,
		)
		r.execs.Timers.Set(r.id, r.execs.Clock.Now().Add(quarantineRetry).UnixNano())
		return
	}
	r.life.release()
	r.execs.Timers.Set(r.id, journal.Never)
}

// commitFaultyPause pauses an execution because of a fault. It goes by the row in the store, not by
// the state of the run. If the run has ended and another one has its place by now, that one is not to blame.
// The chain is zero if the run was not loaded.
func (x *Executions) commitFaultyPause(id journal.ID, chain journal.RunID, fault *abi.Error) error {
	row, err := x.Store.Brief(x.Host.Context(), id)
	if err == nil && !chain.IsZero() && row.Chain != chain {
		row, err = x.Store.BriefRun(x.Host.Context(), id, chain)
	}
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if row.State == journal.Running {
		u := journal.Update{
			State: journal.Paused, WakeAt: journal.Never, Error: fault, Waiting: row.Waiting, Section: row.Section,
		}
		if _, err := x.Committer.Commit(journal.Write{ID: id, Run: row.Run, Chain: row.Chain, Update: &u}); err != nil {
			return err
		}
		row.State, row.WakeAt, row.Error = u.State, u.WakeAt, u.Error
		x.metrics.finished.WithLabelValues(string(journal.Paused)).Inc()
	}
	x.tell(row)
	return nil
}

// tell tells all who wait for an execution of its row, as it is in the store.
func (x *Executions) tell(row *journal.Execution) {
	x.Watchers.Notify(row)
	x.Updates.TellAnswered(x.Host.Context(), row)
	if row.State.Final() {
		// else the next scan finds them
		if inbox, err := x.Store.Inbox(x.Host.Context(), row.Receiver(), 0); err == nil {
			l := ledger.New()
			l.Open(inbox)
			x.announceEnd(row, l.Awaited())
		}
	}
}

// receiveQuarantined receives for a run whose pause could not be committed. A request to terminate it is durable, and
// waits for the pause; one to interrupt it is found when the execution is resumed.
func (r *run) receiveQuarantined(notices []notice) {
	notices = r.tasks.resolveReserved(r.run, notices)
	for i, m := range notices {
		switch m := content(m).(type) {
		case resumeRequest:
			r.life.release()
			m.reply <- nil
			r.hand.requeue(wake{})
		case messageArrived, lookForMail, endAwaited:
			if reply := replyOf(m); reply == nil {
				continue
			}
			r.hand.waiting = append(r.hand.waiting, notices[i])
			r.pauseFaulty()
		case wake:
			r.pauseFaulty()
		default:
			refuse(m, r.life.fault)
		}
		if r.life.phase != quarantined {
			r.hand.requeue(r.hand.takeWaiting(notices[i+1:])...)
			return
		}
	}
}
