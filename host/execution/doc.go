// Package execution runs workflows: it hands completions to each, journals the deliveries, and
// performs the ops that it issues.
//
// # How an execution runs
//
// An execution in memory is a run, an actor of host/actor: it has a box of notices, the ops that its guest has issued
// and not been answered yet (the ledger) and, while it is warm, an instance. It works only while it has notices; in
// between it holds no goroutine. Work proceeds in turns:
//
//	gather completions → hand them to the guest → take the ops it issues
//	→ commit → let the effects out
//
// The commit of a turn holds the deliveries *and* their effects: the final result, or the time at
// which the execution must next be looked at. So the guest runs ahead of the commit of its own
// deliveries. That is safe because nothing it does can leave the host before the commit is through:
// ops are only collected, log lines are held back, waiting clients are not answered. If the store
// refuses the commit, the same write is tried again (commit.go). If it does not tell the
// outcome of the write, the instance and everything it issued are thrown away and rebuilt from the
// journal; outcomes that were not journaled are kept and delivered again.
//
// The naive order, commit each completion and then deliver it, costs a commit more for every timer and for every
// result. This one runs a workflow of N activities in N+1 commits: one for the start and one for each activity; the
// result travels with the last.
//
// # The second way into the journal
//
// An activity that used SQL commits its statements and its journal entry in one database
// transaction, so its entry must have a place in the order before the run has decided the next
// delivery. It reserves one: the ledger assigns sequence numbers from one counter, and delivers
// strictly in their order. While a reserved number is undecided nothing behind it is delivered; if
// its transaction fails, the number stays a gap. No lock is held over a database transaction, hence
// a guest's transaction and the group committer, which both need the only writer of the embedded
// store, can never wait for each other.
//
// If the run has nothing else to do, it takes the turn that such an entry causes while the
// transaction is open still, and both commit together (ahead.go). Otherwise the effects of the
// entry are a commit of their own.
//
// # When an answer is lost
//
// A commit whose answer was lost may have taken effect. The run then no longer knows its own row:
// it keeps the outcomes it owes to the guest, discards all else, reloads and goes by the store.
// Requests from outside are received again after that; each can see from the row whether it has
// been done. Messages are committed by their senders (request). A transaction of an activity is
// looked up by its entry. So nothing is done twice, and no caller misses the lost answer.
//
// # When the host is to blame
//
// A panic of the host, an entry that does not decode: the run is forgotten and its row paused (quarantine.go). A host
// that ended during an attempt of an activity: the next one counts that in the journal before it repeats the attempt
// (lostattempts.go).
//
// # What wakes an execution
//
// An execution is in memory, or its row says when it must be: the wake time. It may be too early
// and never too late, so it is written before anything is let out that depends on it, and a run is
// forgotten only once the store has it. The heap of host/timer holds the near times; a scan each
// minute (host/recovery) finds the rest, and also whatever should have been in memory and is not. A
// run that waits for the doing of others (a signal, the result of a callee: results.go) has no wake
// time.
//
// # Replay
//
// An entry carries its turn and its time. Replaying feeds a fresh instance the same batches with
// the same clock, so it repeats its steps; each delivery is checked against the identity of the op
// it answers (host/replay). Ops that were issued and not delivered are performed again: that is
// recovery, and it is the same code that performs them the first time. Effects of turns that are
// not ops, or have no outcome to wait for, are recovered as well (recover.go).
//
// # Other code
//
// A run is pinned to its module until it is moved (move.go). A move tries the other module on the
// whole journal first, in an instance of its own and without writing; if the journal fits, one
// commit holds a Moved entry and the new digest, and the run is rebuilt. The host's work for ops
// goes on meanwhile: tasks, outcomes in hand and reservations go by step, not by number. A fork
// (fork.go) is a start with a journal.
//
// # Critical sections
//
// A run that has locked entities, or is about to, is in a section (section.go). Its row names the
// step of the op lock for as long as it is: the entities go by that, see journal/lock.go. Its
// invariants:
//
//  1. Which section a run is in after a turn follows from its turns: the deliveries, the ops issued
//     and the ops given up ([op.Section]). A replay comes to the same.
//  2. The commit of the turn that begins or ends a section says so in the row, before anything
//     that the turn issued is performed, and before anything that it ended is delivered. If the
//     host ended before that commit, the next one finds by 1 that the row is behind, and
//     makes it up first.
//  3. A section whose end is in the row is never in the row again, unless it has not been
//     granted: code that a run was moved to may come to its lock once more.
//  4. However a run ends, its last commit has no section.
//
// # Where to read
//
// The package stands on rooms of its own, each of which knows runs by an interface at most:
//
//   - ledger decides the meaning of a turn: which completions it delivers, and the write that makes it
//     durable. Start there, at ledger.go and decide.go. A run shares its ledger with its tasks
//     (sharedledger).
//   - request puts the messages of callers into inboxes.
//   - task performs the ops of runs beside them.
//   - instance has the guest of a run while it is warm, and the memory of that.
//   - rebuild brings that guest to where the journal ends, and saves its state.
//   - recode tries an execution on other code, and forks it.
//   - publish merges the values that a workflow publishes; largevalue says what large values cost.
//
// The files of the package stand in layers, and name only what is below them:
//
//	executions.go              New, and the services that callers are handed
//	start.go, launch.go        starts, with the first turn ahead of the commit (begineagerly.go)
//	stops.go, query.go, …      the requests of callers, as notices into the boxes of runs (boxes.go, boxmemory.go)
//	actor.go, idle.go          the run as an actor: what it does with notices, and when it rests
//	receive.go                 one notice; load.go brings the run into memory before that
//	advance.go, ahead.go       turn after turn, for as long as there is something to deliver
//	turn.go                    a turn: gather, hand over; committurn.go: decide, commit, release
//	crash.go, pause.go         a turn that failed; quarantine.go: the host is to blame
//	finish.go, giveup.go       the end of a run, and its callees
//	commit.go                  a write is durable, pending, or has no known outcome
//	reload.go                  the run is forgotten, to be loaded again
//	run.go                     its state, and its parts: phase.go, mail.go (what it knows of its inbox;
//	                           settlements.go, mailmemory.go), hand.go (notices that are not handled yet), failures.go,
//	                           progress.go (the turn that can be broken off)
//	rundeps.go                 the services that all runs share; deps.go: those of the host
//	notice.go                  what a run can be told; address.go, refuse.go
//
// Read run.go first, then turn.go and committurn.go, then actor.go.
//
// Beside its own, the package imports the rooms below it (actor, admission, budget, decide, faultpoint, follow,
// guest, guestlog, hibernation, hostfault, hoststate, message, metric, op, program, replay, residency, timer, wasm,
// watch), journal and abi; never package host.
package execution
