package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/journal"
)

const (
	// keptMessages is how many messages of its inbox a run knows without paying for them: most inboxes are smaller.
	keptMessages = 64
	// messageCost is about how many bytes of the host's memory a message takes that a run knows, without its value.
	messageCost = 512
	// mailPart is the part of Queued that one run pays for its messages at most: it must be able to issue ops.
	mailPart = 8
	// mailTries is how often a run is loaded in vain because there is no memory for its messages, which takes some ten
	// seconds. It goes on without paying then: others may wait for it, with the memory.
	mailTries = 20
)

// mailMemory is the memory of the messages that a run knows of its inbox.
//
// Nothing waits for it but the load of a run, which has no other memory then and gives up after a while. Messages that
// arrive at a run in memory are there already: if it cannot pay for them, it leaves as soon as it only waits.
type mailMemory struct {
	queued *budget.Budget
	paid   *budget.Permit // nil if there is none
	owes   bool           // there was no memory for all messages
}

// pay pays for so many messages. It reports false, and leaves the payment as it was, if there is no memory for them.
func (m *mailMemory) pay(messages int) bool {
	if messages <= keptMessages {
		m.release()
		return true
	}
	if m.paid == nil {
		m.paid = m.queued.Empty()
	}
	more := min(int64(messages)*messageCost, m.queued.Total()/mailPart) - m.paid.Bytes()
	if more <= 0 {
		m.paid.Shrink(-more)
		m.owes = false
	} else {
		m.owes = !m.paid.Grow(more)
	}
	return !m.owes
}

// release gives the memory back.
func (m *mailMemory) release() {
	m.paid.Release()
	m.paid, m.owes = nil, false
}

// payForMail pays for the messages that the run knows; for none if it does not go on. It reports false if there is no
// memory for them.
func (r *run) payForMail() bool {
	if r.row == nil || r.row.State != journal.Running {
		return r.mailMemory.pay(0)
	}
	known := sharedledger.Look(r.ledger, (*ledger.Ledger).Messages)
	return r.mailMemory.pay(known + len(r.mail.deferreds.settled))
}

// payToLoad is payForMail for a run that is being loaded, and refuses it if it has not waited for long.
func (r *run) payToLoad() error {
	if r.payForMail() || r.failures.setbacks >= mailTries {
		return nil
	}
	return abi.Errorf(abi.CodeOverloaded, "the host has no memory left for the inbox of %s", r.row.Name())
}

// forgetMail forgets the messages that the run knows. It reads them again when it is loaded.
func (r *run) forgetMail() {
	r.ledger.With((*ledger.Ledger).ForgetMail)
	r.mail.forget()
	r.mailMemory.release()
}

// leavesUnpaid tells whether the run does nothing but wait, and has not paid for its messages: it leaves memory.
func (r *run) leavesUnpaid() bool { return r.mailMemory.owes && r.life.begun() && r.tasks.Len() == 0 }
