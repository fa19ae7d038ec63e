// Package host is the durable engine: it runs modules, journals what it
// delivers to them, and brings every execution back after a crash.
//
// # How an execution runs
//
// An execution in memory is a [run]: a mailbox, the ops its guest has issued and
// not yet been answered, and, while it is warm, a Wasm instance. A run works
// only while it has mail; in between it holds no goroutine. Work proceeds in
// turns:
//
//	gather what has completed → hand it to the guest → take the ops it issues
//	→ commit → let the effects out
//
// The commit of a turn holds the deliveries *and* what they caused: the final
// result, or the time at which the execution must next be looked at. So the
// guest runs ahead of the commit of its own deliveries. That is safe because
// nothing it does can leave the host before the commit is through: ops are only
// collected, log lines are held back, waiting clients are not answered. If the
// commit fails the instance and everything it issued are thrown away and
// rebuilt from the journal; outcomes that were not journaled are kept and
// delivered again.
//
// The naive order, commit each completion and then deliver it, costs a commit
// more for every timer and for every result. This one runs a workflow of N
// steps in N+1 commits.
//
// # The second way into the journal
//
// An activity that used SQL commits its statements and its journal entry in
// one database transaction, so its entry must have a place in the order before
// the run has decided what comes next. It reserves one: the run assigns
// sequence numbers from one counter, and delivers strictly in their order. While
// a reserved number is undecided nothing behind it is delivered; if its
// transaction fails, the number stays a gap. No lock is held over a database
// transaction, hence a guest's transaction and the group committer, which both
// need the only writer of the embedded store, can never wait for each other.
//
// # When an answer is lost
//
// A commit whose answer was lost may have taken effect. The run then no longer
// knows its own row: it keeps the outcomes it owes to the guest, throws all else
// away, loads itself again and goes by what it finds. Requests from outside are
// read again behind that; each can see from the row, or from the settled
// deferreds, whether it has been done. A transaction of an activity is looked up
// by its entry. So nothing is done twice, and nobody waits for news that came
// with the lost answer.
//
// # Who wakes an execution
//
// An execution is in memory, or its row says when it must be: the wake time. It
// may be too early and never too late, so it is written before anything is let
// out that depends on it, and an execution is forgotten only once it stands in
// the store. The heap holds the near times; a scan each minute finds the rest,
// and also whatever should have been in memory and is not.
//
// # Replay
//
// An entry carries its turn and its time. Replaying feeds a fresh instance the
// same batches with the same clock, so it does what it did; each delivery is
// checked against the identity of the op it answers. Ops that were issued and
// not delivered are performed again: that is recovery, and it is the same code
// that performs them the first time.
//
// # What may be imported
//
// host imports host/wasm, host/egress, sharding, journal and abi. Start reading
// at engine.go, then run.go, turn.go, replay.go.
package host
