package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/host/op"
)

// receive takes in one notice. It decides nothing that needs the guest.
func (r *run) receive(m notice) {
	if refusal := r.notFor(m); refusal != nil {
		if r.missed(m) {
			r.reload(ledger.Batch{})
			r.hand.requeue(m)
			return
		}
		refuseAll([]notice{m}, refusal)
		return
	}
	m = content(m)
	r.requested = r.requested || isRequest(m)
	switch m := m.(type) {
	case started:
		if r.chain != m.row.Chain {
			// It is not the run of the same name which was here before.
			r.input.leaveTo(m)
			r.unload()
			r.hand.requeue(m)
			return
		}
		m.head.discard() // it has taken that turn itself
	case soon:
		r.prepare()
	case ofTask:
		r.receiveReport(m.report)
	case resultSent:
		releaseArrival(m)
		r.ledger.With(func(l *ledger.Ledger) { r.mail.tellResult(l, m.message) })
	case releaseRequest:
		r.giveUpAttempts(m)
	default:
		r.answerRequest(m)
	}
}

// receiveReport takes what a task tells, the outcome of its op as a rule.
func (r *run) receiveReport(report task.Report) {
	switch m := report.(type) {
	case task.Begins:
		r.beginAttempt(m)
	case task.Done:
		r.tasks.End(m.Step)
		r.ledger.With(func(l *ledger.Ledger) { l.Complete(m.Step, m.Outcome, m.Attempts, m.At) })
	case task.AttemptFailed:
		r.tasks.End(m.Step)
		var failed ledger.FailedAttempt
		r.ledger.With(func(l *ledger.Ledger) { failed = l.AttemptFailed(m.Step, m.Err, r.deps.now(), r.deps.Random) })
		logFailed(r.log, failed)
	case task.Committed:
		r.tasks.End(m.Entry.Op.Step())
		r.ledger.With(func(l *ledger.Ledger) { l.Commit(m.Entry) })
	case task.Void:
		r.ledger.With(func(l *ledger.Ledger) { l.Void(m.Seq) })
	case task.Dropped:
		r.tasks.End(m.Step)
	case task.CalleeOver:
		r.tasks.End(m.Step)
		r.ledger.With(func(l *ledger.Ledger) { l.AddResult(m.Result) })
	case task.Awaits:
		r.ledger.With(func(l *ledger.Ledger) { l.Ops().Change(m.Step, (*op.Op).Await) })
		r.tasks.End(m.Step)
	case task.Fault:
		r.tasks.End(m.Step)
		if m.Seq == 0 {
			r.stuck = r.report(&hostFault{Fault: *m.Fault})
			break
		}
		// Nothing may be delivered before the journal was read again.
		r.quarantine([]notice{ofRun{r.run, ofTask{m}}}, &hostFault{Fault: *m.Fault})
	case task.Stuck:
		r.tasks.End(m.Step)
		r.stuck = m.Err
	}
}

// answerRequest serves a request from outside the run.
func (r *run) answerRequest(m notice) {
	switch m := m.(type) {
	case resumeRequest:
		r.answer(m, m.reply, "resume "+r.row.Name(), r.resume())
	case messageArrived:
		r.receiveMessage(m)
	case lookForMail:
		r.lookForStops(m.reply)
	case endAwaited:
		r.replyAtEnd(m.reply)
	case failRequest:
		r.answer(m, m.reply, "fail "+r.row.Name(), r.fail(m))
	case moveRequest:
		if !r.postponeMove(m) {
			r.answer(m, m.reply, "move "+r.row.Name(), r.move(m))
		}
	case waitingRequest:
		m.reply <- r.waitsFor()
	case queryRequest:
		r.query(m)
	case inspectRequest:
		m.reply <- inspected{Inspection: r.inspect()}
	}
}
