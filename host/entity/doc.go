// Package entity runs entities: it takes calls for them, has the code of their module answer, and
// keeps the state of stateful ones.
//
// # Invariants
//
//  1. A call that changes a state is acknowledged after one commit that holds the state it
//     left, its receipt and all messages it sent. Of two operations on one entity one sees
//     all of the other, or nothing.
//  2. Nothing that an operation causes is seen before that commit: no answer, no message to
//     another entity, no start of a workflow, no read of the new state.
//  3. A message that was sent is in the inbox, or parked, or its effects are durable: the commit
//     that takes it out is the one of invariant 1.
//  4. Two calls of one origin (a request id, a step of a workflow) are one operation, whether
//     they come together, one after the other or on two sides of a crash, for as long as
//     receipts are kept.
//  5. A read sees every operation that was acknowledged before it began.
//  6. An operation that crashes fails alone. Operations beside it are not affected.
//  7. The state in memory is a cache of the row in the store. An entity that is not in memory
//     takes none.
//  8. From the commit of a lock until the end of the section that it belongs to, no operation
//     of anyone else begins on the entity, changes or reads, on whatever host.
//
// # Entities with a state
//
// An entity in memory is an actor of host/actor. The actor never waits: it puts calls into a queue,
// and hands work to tasks, which report to it by messages. One task works on the queue at a time
// (batch/batch.go):
//
//	cut a batch off the queue → load the row, if it is not in memory
//	→ run all of it in one instance, in one invocation → commit once → answer all
//
// The naive design puts each call into a durable mailbox, acknowledges it, runs it, and commits its
// effects: two commits a call, and calls of one entity wait for each other's commits. Here a call
// whose caller waits runs from memory. If the host ends before the commit, its caller has heard
// nothing, and repeats it with the same request id; if it ends right after the commit, the repeated
// call finds the receipt. So a call costs one commit at most, and while that commit is under way
// the queue fills: the busier an entity, the larger its batches, and all of a batch share an
// instance, a decoding of the state and a commit. There is no timer that collects.
//
// A call whose caller does not wait (a send) has to be durable before it is acknowledged. It is put into the inbox, and
// joins the queue from there (mailbox/pages.go). A call runs behind the messages that were acknowledged before it came:
// so calls and sends of one sender keep their order (mailbox/order.go), and a flood of sends does not keep a call
// waiting for ever.
//
// # An operation that crashes
//
// A crash, an endless loop or a state that has become too large end the invocation. Nothing has
// left the host. The guest reports which operation it begins (instance/underway.go), so the host knows which one
// was under way: those in front of it are run again, then that one by itself, then those behind it,
// each against the state that the one before it left (batch/run.go). If it fails again it has failed, with a
// receipt of its own, or is parked if it was sent (batch/park.go); it has changed nothing.
//
// An operation that took too long is not run again if it had the whole limit for itself. The limit
// begins anew with each operation, until the invocation has used up one limit: an invocation takes two at
// most. The operations in front of an endless loop are committed and answered, and the operations behind it
// are another batch. A guest that takes too long again with the operations in front has made a
// false report: each operation has a batch of its own then.
//
// Of a module that does not report, or that failed outside of operations, the batch is run in
// halves, down to the failing operation: one such operation among n costs about log n more
// invocations. If the invocation took too long each operation has a batch of its own instead: an endless
// loop costs the limit twice, and the operations in front of it in the queue do not wait for that.
//
// # Receipts, and when an answer is lost
//
// The naive way to find a repeated call asks the store for a receipt before each operation: a round
// trip a call, nearly always in vain. Here the commit finds out: a commit with a second receipt of
// an origin fails as a whole. Then the receipts of the batch are looked up, the calls with a
// receipt are answered with it, and the others run again; they have caused nothing yet. Origins
// that were seen a short while ago are remembered, and looked up first, as calls are that their
// callers mark as repeated, and for a while all calls of an entity that was called again without a
// mark: with one read for a batch (batch/receipts.go).
//
// A commit whose answer was lost is repeated until it is decided (host/decide). The witness of a batch is a receipt, or
// a message that it takes out of the inbox. Until then nothing is answered and no other batch of the entity begins.
//
// If the store refuses a commit nothing took effect: callers get the error, messages stay in the
// inbox, and the state in memory is as of the last commit.
//
// # Reads
//
// An operation that is declared to be read-only runs against the state of the last commit, in an instance of its own,
// beside others and beside the task that works on the queue. It commits nothing. The actor learns of a commit before
// any caller does, so that a read which a caller makes afterwards begins with that state or a later one.
//
// A host that another has fenced answers reads from memory until it notices. As long as one host at a time serves a
// store, which claims it when it starts, that is the moment between the claim and its next write; leases of shards will
// close it.
//
// # Critical sections
//
// A workflow may lock entities with a state (batch/lock.go). The store has two rows of it, the lock's and
// the run's, and the entity is held while they agree: see journal/lock.go.
//
// To lock is a call in the queue, alone in its batch: it comes behind the calls and messages that came before it. Its
// task makes sure that the run is in its section, and writes the row of the lock. From then on the entity begins calls
// of that run alone. They pass by the queue, the inbox and the bound of the mailbox: all that waits there waits for the
// end of the section, and so for them. A call says which section it was made in, and is refused if the entity is not
// held by that one; if it was performed before, it has its outcome all the same.
//
// The naive release is a message from the run to each entity, which is lost with the host, or with
// the run. Here the run ends its section by a write of its own, and by its end: the row of the lock
// is worth nothing from then on. The entities that the run holds are told in memory
// ([Entities.Unlocked]); an entity that misses it, because of a crash or a race, looks by itself:
// while it is held and others wait it asks the store each second, and on coming into memory it asks
// before it begins anything. An ended section stays ended, so that one look is enough. The row is
// deleted along with the next commit, or by the sweep.
//
// No two runs wait for each other: a run locks in the order of the ids of entities, asks for
// nothing else while it has locks, and waits for no entity that it has not locked.
//
// # Entities without a state
//
// Each call has an instance of its own, with SQL in a transaction, HTTP and configuration
// (host/effects), and a few run at the same time (stateless/stateless.go). A call that is not persisted is
// best effort: it runs once at most, and its SQL commits before it is answered. A persisted call is
// put into the inbox first, and runs until it has an outcome: its SQL, its receipt and the removal
// of its message commit together.
//
// # What else leaves an entity
//
// Messages to other entities are inserted into their inboxes by the commit of invariant 1; then their actors are told.
// A workflow to be started is a message of the entity to itself: it is started after the commit, which is idempotent by
// its key, and then taken (starts/starts.go). After a crash [Entities.Recover] finds all inboxes that have messages.
//
// # Limits
//
// The mailbox of an entity, the size of a batch, the messages of an operation and the size of a
// state are bounded. Instances are admitted by host/budget and compute in guest.Slots, under the
// limits of turns; states and calls that are kept in memory are part of the budget of waiting work.
// Batches and calls of many entities take turns (actor.FairQueue): an entity called ten thousand
// times delays another by one batch.
//
// # Where to read
//
// A request passes these packages, from the outside to the store. None of them knows the actors:
//
//	request    checks it, makes it durable if it is to be, hands it to the actor and waits for the outcome
//	mailbox    gives it its place among the calls and messages of the entity
//	batch      runs it with others and commits their effects: batch.go, then run.go
//	stateless  performs it, if the entity has no state
//	starts     starts the workflows that it has asked for
//
// Beside them, lock knows the run that has locked an entity, and parked has the messages that cannot be performed,
// for operators. They share call (a pending operation), commit (one durable write, also if its answer is lost),
// snapshot (the state as of a commit), instance (the guest's code at work), target (names and their code), fault
// (panics of the host) and metrics.
//
// This package has the actors (entity.go, actor.go), each of which takes calls out of its mailbox and begins tasks:
// batches.go (the queue), fetch.go (the inbox), concurrent.go (reads and calls of entities without a state),
// locked.go and starts.go. Workers, which all actors share, perform the tasks (workers.go). [Entities] has
// the actors and the rooms around them (entities.go), and tells entities of messages that they have missed
// (recover.go). The package is beside host/execution: neither imports the other.
package entity
