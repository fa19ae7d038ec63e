package crash_test

import "github.com/cruster/cruster/journal"

type object = map[string]any

// language is a language in which every example is written. The modules of one
// example must behave the same.
type language struct {
	name string
	// below is the path of its module in the folder of an example.
	below string
}

var languages = []language{{name: "go"}, {name: "rust", below: "/rust"}}

func (l language) folder(example string) string { return "modules/examples/" + example + l.below }

// scenario is one use of an example, and the queries that show what it stored.
type scenario struct {
	name    string
	example string
	run     func(d *driver, key string) *journal.Execution
	// rows are queries over the example's tables; $1 is the key, or a pattern
	// for it where the table holds the execution's name.
	rows []string
}

var scenarios = []scenario{
	{
		name: "orders", example: "orders",
		run: func(d *driver, key string) *journal.Execution {
			return d.wait(d.start("orders/ProcessOrder", object{
				"order_id": key, "email": "ada@example.com", "cooling_off_ms": 1, "fail_charges": 1,
				"items": []object{{"sku": "apple", "quantity": 2, "price_cents": 150}},
			}))
		},
		rows: []string{
			`SELECT status, total_cents FROM orders WHERE order_id = $1`,
			`SELECT charge_id, amount_cents, attempt, status FROM charges WHERE order_id = $1`,
			`SELECT COUNT(*) FROM notifications WHERE order_id = $1`,
		},
	},
	{
		name: "approval granted", example: "approval",
		run: func(d *driver, key string) *journal.Execution {
			execution := d.start("approval/RequestApproval", object{"document": key})
			d.settle(execution, "approved", object{"approved": true, "by": "ada"})
			return d.wait(execution)
		},
		rows: []string{
			`SELECT status, decided_by, remark FROM approvals WHERE document = $1`,
			`SELECT step FROM approval_effects WHERE execution LIKE '%' || $1 ORDER BY step`,
		},
	},
	{
		name: "approval timed out", example: "approval",
		run: func(d *driver, key string) *journal.Execution {
			return d.wait(d.start("approval/RequestApproval", object{"document": key, "timeout_ms": 1}))
		},
		rows: []string{`SELECT status, decided_by, remark FROM approvals WHERE document = $1`},
	},
	{
		name: "transfer", example: "transfer",
		run: func(d *driver, key string) *journal.Execution {
			for _, account := range []string{"from", "to"} {
				d.wait(d.start("transfer/OpenAccount", object{"account": key + account, "balance_cents": 100}))
			}
			return d.wait(d.start("transfer/Transfer", object{
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
		run: func(d *driver, key string) *journal.Execution {
			return d.wait(d.start("fanout/FanOut", object{"run": key, "n": 6, "record": true}))
		},
		rows: nil, // the key of this workflow is a hash: its effects are counted over all runs
	},
	{
		name: "saga", example: "saga",
		run: func(d *driver, key string) *journal.Execution {
			return d.wait(d.start("saga/BookTrip", object{"trip_id": key, "fail_at": "car", "pause_ms": 1}))
		},
		rows: []string{
			`SELECT part, status FROM bookings WHERE trip_id = $1 ORDER BY part`,
			`SELECT position, action, part FROM booking_log WHERE trip_id = $1 ORDER BY position`,
		},
	},
}
