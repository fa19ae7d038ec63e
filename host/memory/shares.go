package memory

import "github.com/cruster/cruster/host/budget"

// share is a part of the memory of a host. Each is for uses that must not wait for the others: so
// nothing waits for memory held by its own waiters. The table of docs/tuning.md has one row for
// each.
type share struct {
	// parts of shareParts are its size. The share of instances is the remainder.
	parts int64
	// metric begins the names of its metrics.
	metric string
	// total and waiting are their help.
	total, waiting string
}

const shareParts = 32

var (
	instanceShare = share{
		parts:   19,
		metric:  "memory",
		total:   "How much memory instances may have together.",
		waiting: "Instances that wait until there is memory for them.",
	}
	queuedShare = share{
		parts: 7, metric: "queued_memory",
		total: "How much memory ops that executions wait for, inboxes, inputs of starts, calls of entities and " +
			"uploads may have together.",
		waiting: "Requests that wait for a part of it.",
	}
	deliveringShare = share{
		parts:   2,
		metric:  "delivered_memory",
		total:   "How much memory large values may have together on their way from the store to workflows.",
		waiting: "Executions that wait for a part of it.",
	}
	requestShare = share{
		parts:   2,
		metric:  "request_memory",
		total:   "How much memory calls and their messages may have together.",
		waiting: "Requests that wait for a part of it; they are refused instead.",
	}
	answerShare = share{
		parts:  1,
		metric: "answer_memory",
		total: "How much memory results, histories, lists and descriptions may have together while they are made " +
			"and sent.",
		waiting: "Calls that wait for a part of it.",
	}
	connectionShare = share{
		parts:   1,
		metric:  "connection_memory",
		total:   "How much memory connections may have together, beside their calls.",
		waiting: "Connections that wait for a part of it; they are refused instead.",
	}
	// shares are all of them; together they are the whole.
	shares = []share{instanceShare, queuedShare, deliveringShare, requestShare, answerShare, connectionShare}
)

// writeLimit is the part of the memory that writes may have which wait for the store, before starts
// and messages are refused. It is no share: a write must not wait for memory, since its pending
// effects hold some.
const writeLimit = 8

// WriteBytes is how many bytes writes may have that wait for the store, of so much memory.
func WriteBytes(memory int64) int64 { return max(1, memory/writeLimit) }

// outcomeLimit is the part of the memory that outcomes may have which wait to be delivered, before
// no further attempt begins. It is no share: an outcome is there when its size is known, and must
// not be lost.
const outcomeLimit = 16

// OutcomeBytes is how many bytes outcomes may have that wait to be delivered, of so much memory.
func OutcomeBytes(memory int64) int64 { return max(1, memory/outcomeLimit) }

// budgetOf makes the budget of a share.
func (s share) budgetOf(memory int64) *budget.Budget {
	if s != instanceShare {
		return budget.New(memory * s.parts / shareParts)
	}
	rest := memory
	for _, other := range shares {
		if other != instanceShare {
			rest -= memory * other.parts / shareParts
		}
	}
	return budget.New(rest)
}

// Shares are the shares of a host's memory.
type Shares struct {
	Answers     *budget.Budget
	Connections *budget.Budget
	Delivering  *budget.Budget
	Instances   *budget.Budget
	Queued      *budget.Budget
	Requests    *budget.Budget
}

// New divides so much memory, in bytes.
func New(memory int64) *Shares {
	return &Shares{
		Answers:     answerShare.budgetOf(memory),
		Connections: connectionShare.budgetOf(memory),
		Delivering:  deliveringShare.budgetOf(memory),
		Instances:   instanceShare.budgetOf(memory),
		Queued:      queuedShare.budgetOf(memory),
		Requests:    requestShare.budgetOf(memory),
	}
}
