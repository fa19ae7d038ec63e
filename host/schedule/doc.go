// Package schedule starts workflows at their times.
//
// # Invariants
//
//  1. A tick is a time of a schedule. Its execution has a key made of the name of the
//     schedule, its incarnation and that time. Whichever host starts the tick, and however often,
//     there is one execution.
//  2. Every tick is accounted for: the row of a schedule moves past a tick only in a commit that
//     records its outcome (started, waiting, skipped, missed, refused).
//  3. At most one start of a schedule is not recorded in its row, and the row itself names it: the
//     first tick behind the last, the first of a backfill, or a waiting tick.
//
// # Two commits
//
// A tick takes two commits, in this order: the start of the execution, then the row of the schedule, which records the
// start and moves past the tick. Each is fenced by its own shard. Were the order the other way round, a crash between
// them would lose the tick. In this order it leaves a start that is not recorded. The host that loads the row next
// looks for it under its key (invariants 1 and 3) before deciding anything else, and records it: this is adoption, in
// adopt.go. It matters that it comes first. By then the tick may be too old to be started, and to pass over it would
// leave a run that the overlap policy does not know of.
//
// Invariant 3 is why the row is committed after each start and not after several, and why decisions
// without a start (skipped, missed, waiting) are committed before the next.
//
// Retention could delete the execution before it is adopted; the tick would then be started again. So a host does not
// begin to delete before it has looked at all schedules that were due when it started ([Schedules.Recovered]).
//
// # Contents
//
// times.go: when a schedule is due; cron.go: by a cron expression. plan.go: its next action, as a
// function of its row, the time and the known state of its runs. Both are pure. schedules.go: the
// room that acts on it.
//
// It imports host/faultpoint, host/hostfault, host/timer, journal and abi. Executions are started
// by a [Starter] handed to it. Start reading at plan.go.
package schedule
