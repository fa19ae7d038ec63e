package crash_test

import (
	"time"

	"github.com/cruster/cruster/abi"
)

type object = map[string]any

// language is a language in which every example is written. The modules of one example must behave the same.
type language struct {
	name string
	// below is the path of its module in the folder of an example.
	below string
}

var languages = []language{{name: "go"}, {name: "rust", below: "/rust"}}

func (l language) folder(example string) string {
	if example == "conformance" {
		return "tests/guests/conformance" + l.below
	}
	return "modules/examples/" + example + l.below
}

// another is a language other than l.
func (l language) another() language {
	if l == languages[0] {
		return languages[1]
	}
	return languages[0]
}

// scenario is one use of a module, and the queries that show its stored data.
type scenario struct {
	name    string
	example string
	// prepare, if there is one, runs on an engine that does not crash. The work of run begins with the start of the
	// next engine.
	prepare func(d *driver, key string) (execution string)
	run     func(d *driver, key, execution string) (string, ending)
	// rows are queries over the tables of the module; $1 is the key.
	rows []string
	// rowsOfExecution are queries whose $1 is the name of the execution.
	rowsOfExecution []string
	// retention is how long run keeps finished executions; 0 = for ever.
	retention time.Duration
	// ofTheHost tells that the scenario is about the host, whatever module it uses.
	ofTheHost bool
	// deploys tells that each run pushes the module itself, onto a store of its own.
	deploys bool
}

// gone is the ending of an execution that was deleted.
var gone = ending{state: "deleted"}

// waited is how most scenarios end.
func waited(d *driver, execution string) (string, ending) { return execution, d.wait(execution) }

func order(key string) object {
	return object{
		"order_id": key, "email": "ada@example.com", "cooling_off_ms": 100, "fail_charges": 1,
		"items": []object{{"sku": "apple", "quantity": 2, "price_cents": 150}},
	}
}

var orderRows = []string{
	`SELECT status, total_cents FROM orders WHERE order_id = $1`,
	`SELECT amount_cents, attempt, status FROM charges WHERE order_id = $1`,
	`SELECT COUNT(*) FROM notifications WHERE order_id = $1`,
	`SELECT step, attempt FROM order_effects WHERE execution LIKE '%/' || $1 ORDER BY step`,
}

var scenarios = []scenario{
	{
		name: "orders", example: "orders",
		run: func(d *driver, key, _ string) (string, ending) {
			return waited(d, d.start("orders/ProcessOrder", order(key)))
		},
		rows: orderRows,
	},
	{
		// The workflow that it calls has been started by another caller.
		name: "found", example: "orders",
		prepare: func(d *driver, key string) string {
			execution := d.start("orders/NotifyCustomer", object{
				"order_id": key, "email": "bob@example.com", "message": "hello",
			})
			d.wait(execution)
			return execution
		},
		run: func(d *driver, key, _ string) (string, ending) {
			return waited(d, d.start("orders/ProcessOrder", order(key)))
		},
		rows: append([]string{`SELECT email, body FROM notifications WHERE order_id = $1`}, orderRows...),
	},
	{
		name: "approved", example: "approval",
		run: func(d *driver, key, _ string) (string, ending) {
			execution := d.start("approval/RequestApproval", object{"document": key})
			d.settle(execution, "approved", object{"approved": true, "by": "ada"})
			return waited(d, execution)
		},
		rows: []string{
			`SELECT status, decided_by, remark FROM approvals WHERE document = $1`,
			`SELECT step FROM approval_effects WHERE execution LIKE '%/' || $1 ORDER BY step`,
		},
	},
	{
		name: "timed-out", example: "approval",
		run: func(d *driver, key, _ string) (string, ending) {
			return waited(d, d.start("approval/RequestApproval", object{"document": key, "timeout_ms": 1}))
		},
		rows: []string{`SELECT status, decided_by, remark FROM approvals WHERE document = $1`},
	},
	{
		name: "withdrawn", example: "approval",
		run: func(d *driver, key, _ string) (string, ending) {
			execution := d.start("approval/RequestApproval", object{"document": key})
			d.awaitPending(execution, abi.OpDeferred, "approved")
			d.interrupt(execution, "no longer needed")
			return waited(d, execution)
		},
		rows: []string{
			`SELECT status, decided_by, remark FROM approvals WHERE document = $1`,
			`SELECT step FROM approval_effects WHERE execution LIKE '%/' || $1 ORDER BY step`,
		},
	},
	{
		// The execution waits already when the engine starts that crashes: it is recovered, not begun.
		name: "recovered", example: "approval",
		prepare: func(d *driver, key string) string {
			execution := d.start("approval/RequestApproval", object{"document": key})
			d.awaitPending(execution, abi.OpDeferred, "approved")
			return execution
		},
		run: func(d *driver, _, execution string) (string, ending) {
			d.settle(execution, "approved", object{"approved": false, "by": "bob"})
			return waited(d, execution)
		},
		rows: []string{
			`SELECT status, decided_by, remark FROM approvals WHERE document = $1`,
			`SELECT step FROM approval_effects WHERE execution LIKE '%/' || $1 ORDER BY step`,
		},
	},
	{
		name: "transfer", example: "transfer",
		run: func(d *driver, key, _ string) (string, ending) {
			for _, account := range []string{"from", "to"} {
				d.wait(d.start("transfer/OpenAccount", object{"account": key + account, "balance_cents": 100}))
			}
			return waited(d, d.start("transfer/Transfer", object{
				"transfer_id": key, "from": key + "from", "to": key + "to", "amount_cents": 30,
			}))
		},
		rows: []string{
			`SELECT account, balance_cents FROM accounts WHERE account LIKE $1 || '%' ORDER BY account`,
			`SELECT amount_cents FROM ledger WHERE transfer_id = $1`,
		},
	},
	{
		name: "fan-out", example: "fanout",
		run: func(d *driver, key, _ string) (string, ending) {
			return waited(d, d.start("fanout/FanOut", object{"run": key, "n": 6, "record": true}))
		},
		rowsOfExecution: []string{
			`SELECT step, COUNT(*) FROM fanout_effects WHERE execution = $1 GROUP BY step ORDER BY step`,
		},
	},
	{
		name: "saga", example: "saga",
		run: func(d *driver, key, _ string) (string, ending) {
			return waited(d, d.start("saga/BookTrip", object{"trip_id": key, "fail_at": "car", "pause_ms": 1}))
		},
		rows: []string{
			`SELECT part, status FROM bookings WHERE trip_id = $1 ORDER BY part`,
			`SELECT position, action, part FROM booking_log WHERE trip_id = $1 ORDER BY position`,
		},
	},
	{
		// It crashes each time it runs: it is paused, resumed, paused again, and failed.
		name: "paused", example: "conformance",
		run: func(d *driver, key, _ string) (string, ending) {
			execution := d.startAs(key, "conformance/Misuse", "panic")
			d.wait(execution)
			d.resume(execution)
			d.wait(execution)
			d.fail(execution, "given up")
			return waited(d, execution)
		},
	},
	{
		// Each signal is received once, whatever happens between and behind the two.
		name: "signalled", example: "conformance",
		run: func(d *driver, key, _ string) (string, ending) {
			execution := d.startAs(key, "conformance/Collect", object{"words": 2})
			d.awaitPending(execution, abi.OpReceive, "word")
			d.signal(execution, "word", "first", "one")
			d.signal(execution, "word", "second", "two")
			return waited(d, execution)
		},
	},
	{
		// Calls, messages, a workflow that an entity starts and another that calls it: each is a digit of the sum. An
		// entity without state counts in SQL.
		name: "entities", example: "conformance",
		run: func(d *driver, key, _ string) (string, ending) {
			tally, reported := "conformance/Tally/"+key, "conformance/TallyReported/"+key
			d.call(tally, "add", "call", 5)
			d.send(tally, "add", "send", 20)
			d.call(tally, "report", "report", object{})
			d.awaitStarted(reported)
			d.wait(reported)
			d.call("conformance/Ledger/"+key, "note", "note", false)
			return waited(d, d.startAs(key, "conformance/TallySum", key))
		},
		rows: []string{`SELECT n FROM counters WHERE name = $1`},
	},
	{
		// A message that crashes is parked, once more when it is retried, and dropped. Nothing else is lost.
		name: "parked", example: "conformance",
		run: func(d *driver, key, _ string) (string, ending) {
			tally := "conformance/Tally/" + key
			d.call(tally, "add", "call", 5)
			d.send(tally, "panic", "crash", object{})
			first := d.awaitParked(tally, time.Time{})
			d.retryParked(tally)
			d.awaitParked(tally, first)
			d.dropParked(tally)
			return waited(d, d.startAs(key, "conformance/TallySum", key))
		},
	},
	{
		// It calls a workflow that the client has started. Both wait when the other one is let go on: whatever crashes
		// behind that, its end is told to the waiting one.
		name: "awaited", example: "conformance",
		prepare: func(d *driver, key string) string {
			execution := d.startAs(key, "conformance/Await", key)
			d.awaitPending(execution, abi.OpDeferred, "answer")
			return execution
		},
		run: func(d *driver, key, callee string) (string, ending) {
			caller := d.startAs(key, "conformance/FollowToTheEnd", key)
			d.awaitPending(caller, abi.OpCall, "Await")
			d.settle(callee, "answer", "go on")
			return waited(d, caller)
		},
	},
	{
		// Whatever happens in the section, the sum of the accounts is the same behind it, and they can be called.
		name: "locked", example: "bank",
		run: func(d *driver, key, _ string) (string, ending) {
			from, to := key+"-from", key+"-to"
			d.call("bank/Account/"+from, "deposit", "from", 100)
			execution, end := waited(
				d, d.start("bank/Transfer", object{"transfer_id": key, "from": from, "to": to, "cents": 30}),
			)
			d.call("bank/Account/"+from, "deposit", "again", -70)
			d.call("bank/Account/"+to, "deposit", "again", -30)
			return execution, end
		},
	},
	{
		// Each update is answered once.
		name: "updated", example: "conformance",
		run: func(d *driver, key, _ string) (string, ending) {
			execution := d.startAs(key, "conformance/Updated", false)
			d.update(execution, "add", "first", 5)
			d.update(execution, "finish", "last", object{})
			return waited(d, execution)
		},
	},
	{
		// Each signal is received once, by the one run or by the next.
		name: "continued", example: "conformance",
		run: func(d *driver, key, _ string) (string, ending) {
			execution := d.startAs(key, "conformance/Continues", object{"left": 2})
			d.signal(execution, "word", "first", "one")
			d.signal(execution, "word", "second", "two")
			return waited(d, execution)
		},
	},
	{
		// Children that are given up are stopped, each in its own way, or left alone.
		name: "given-up", example: "conformance",
		run: func(d *driver, key, _ string) (string, ending) {
			return waited(d, d.startAs(key, "conformance/GiveUp", object{}))
		},
	},
	{
		// It is moved to the module of another language, which fits as well.
		name: "moved", example: "approval",
		prepare: func(d *driver, key string) string {
			d.deploy(false)
			execution := d.start("approval/RequestApproval", object{"document": key})
			d.awaitPending(execution, abi.OpDeferred, "approved")
			d.deploy(true)
			return execution
		},
		run: func(d *driver, _, execution string) (string, ending) {
			d.move(execution)
			d.settle(execution, "approved", object{"approved": true, "by": "ada"})
			return waited(d, execution)
		},
		rows: []string{
			`SELECT status, decided_by, remark FROM approvals WHERE document = $1`,
			`SELECT step FROM approval_effects WHERE execution LIKE '%/' || $1 ORDER BY step`,
		},
	},
	{
		// The fork takes over the first step, and does not repeat it.
		name: "forked", example: "approval",
		prepare: func(d *driver, key string) string {
			execution := d.start("approval/RequestApproval", object{"document": key})
			// The first step must have ended: the fork takes over the entries up to its end.
			d.awaitPending(execution, abi.OpDeferred, "approved")
			d.settle(execution, "approved", object{"approved": true, "by": "ada"})
			d.wait(execution)
			return execution
		},
		run: func(d *driver, key, execution string) (string, ending) {
			d.fork(execution, 1, key+"-fork")
			d.settle(execution+"-fork", "approved", object{"approved": true, "by": "eve"})
			return waited(d, execution+"-fork")
		},
		rows: []string{
			`SELECT status, decided_by, remark FROM approvals WHERE document = $1`,
			`SELECT execution, step FROM approval_effects WHERE execution LIKE '%/' || $1 || '%'
				ORDER BY execution, step`,
		},
	},
	{
		// The second run does all steps again, each once. The first is deleted behind it.
		name: "restarted", example: "approval",
		prepare: func(d *driver, key string) string {
			execution := d.start("approval/RequestApproval", object{"document": key})
			d.settle(execution, "approved", object{"approved": true, "by": "ada"})
			d.wait(execution)
			return execution
		},
		run: func(d *driver, key, execution string) (string, ending) {
			first := d.run(execution)
			d.startOver(execution, "restart "+key)
			d.settle(execution, "approved", object{"approved": true, "by": "eve"})
			second := d.wait(execution)
			d.deleteRun(execution, first)
			return execution, second
		},
		rows: []string{
			`SELECT status, decided_by, remark FROM approvals WHERE document = $1`,
			`SELECT step, COUNT(*) FROM approval_effects WHERE execution LIKE '%/' || $1 GROUP BY step ORDER BY step`,
		},
	},
	{
		name: "deployed", example: "orders", deploys: true,
		run: func(d *driver, key, _ string) (string, ending) {
			return waited(d, d.start("orders/ProcessOrder", order(key)))
		},
		rows: orderRows,
	},
	{
		name: "swept", example: "transfer", retention: time.Millisecond,
		prepare: func(d *driver, key string) string {
			execution := d.start("transfer/OpenAccount", object{"account": key, "balance_cents": 100})
			d.wait(execution)
			return execution
		},
		run: func(d *driver, _, execution string) (string, ending) {
			d.awaitGone(execution)
			return execution, gone
		},
		rows: []string{`SELECT account, balance_cents FROM accounts WHERE account = $1`},
	},
	{
		// A schedule starts it. host has the tests with a clock.
		name: "scheduled", example: "approval", ofTheHost: true,
		prepare: func(d *driver, key string) string {
			d.schedule(key, "approval/RequestApproval", object{"document": key, "timeout_ms": 1})
			return ""
		},
		run: func(d *driver, key, _ string) (string, ending) {
			return waited(d, d.trigger(key))
		},
		rows: []string{
			`SELECT status, decided_by, remark FROM approvals WHERE document = $1`,
			`SELECT step, COUNT(*) FROM approval_effects WHERE execution LIKE 'approval/RequestApproval/' || $1 ||
				'@trigger-r@%' GROUP BY step ORDER BY step`,
		},
	},
}
