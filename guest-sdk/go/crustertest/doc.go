// Package crustertest runs workflows in a plain "go test": no host, no WebAssembly, no waiting.
//
//	func TestProcessOrder(t *testing.T) {
//		res, err := crustertest.Run(t, ProcessOrder, OrderRequest{OrderID: "42"},
//			crustertest.Stub(Charge, func(ctx *cruster.ActivityContext, r ChargeRequest) (ChargeResult, error) {
//				return ChargeResult{ID: "ch_1"}, nil
//			}))
//		require.NoError(t, err)
//		require.Equal(t, "confirmed", res.Status)
//	}
//
// The workflow runs on the same dispatcher as inside a module. The host is simulated:
//
//   - Time is virtual. It jumps to the next event that is due, so a workflow that sleeps for a
//     month finishes at once. Ops that become due at the same time are delivered in the order in
//     which they were issued, ops that need work by the host after those ready at once. In a
//     workflow, and in an operation of an entity with a state, time.Now shows that time.
//     Activities, stubs and handlers see real time.
//   - Activities run for real, in the test's process, unless a [Stub] replaces
//     them. They are retried as their policy says, in virtual time. SQL needs a
//     database ([SQLite]), HTTP needs a handler ([HandleHTTP]); without them such
//     calls fail with an error that says so. A transaction is open for two seconds at most
//     ([TransactionLimit]). Calls by http.DefaultTransport fail as in a module, unless stdhttp is imported.
//   - Other workflows of the module run as separate executions; workflows of other deployments need
//     a [StubWorkflow], or their module in the binary of the test ([Deploy]).
//   - Entities of the module run for real, and have their states for as long as the run, or as the
//     [Entities] of the test. Operations of other deployments need a [StubOperation]. Messages to
//     an entity take effect before the run ends.
//   - Deferreds, signals and interrupts come from outside at the virtual times that [ResolveAfter],
//     [RejectAfter], [SignalAfter] and [InterruptAfter] say; a [Signal] is there before the
//     workflow starts. [Unread] lists the unread ones. [When] lets all of them happen at a place in
//     the workflow instead.
//   - Updates come before the start or at a virtual time ([Update], [UpdateAfter]), questions at a
//     time ([QueryAfter]). Published values can be read at a time ([PublishedAfter]) and at the end
//     ([History]).
//   - Locks are taken in one order. Calls of others to a locked entity wait, in virtual time.
//   - A workflow that continues as new goes on, in the same test; [History] has all its runs.
//     [Schedules] lists the module's declared schedules.
//
// The kit behaves as a host does: it passes the same table of cases, tests/conformance/table. So it
// also refuses the requests, statements and addresses that a host refuses.
//
// A [History] records the events of a run, for assertions and for [Replay]. Replay runs the
// workflow again with the recorded deliveries and fails if it does anything else: a check that the
// workflow is deterministic. Map iteration order depends on the process in a test, and on the run
// on a host: sort the keys before you range over them.
package crustertest
