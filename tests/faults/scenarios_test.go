package faults

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type object = map[string]any

// sandbox is shared by all engines of the package.
var sandbox harness.Sandbox

// engine starts an engine.
func engine(t *testing.T, store journal.Store, options ...func(*host.Config)) *host.Engine {
	t.Helper()
	return harness.Engine(t, store, append(options, func(c *host.Config) { c.Runtime = sandbox.Runtime(t) })...)
}

// scenario is one use of a module. run returns its observations; the key is removed from that before it is compared
// with want.
type scenario struct {
	name, module string
	stormOnly    bool // for TestStorm only: other scenarios make the same kinds of calls
	alone        bool // not for TestStorm: it restarts the engine
	want         string
	run          func(c *client, key string) []any
}

var scenarios = []scenario{
	{
		name: "orders", module: "modules/examples/orders",
		want: `["completed {\"charge_id\":\"ch_ID-ID\",\"notification_id\":\"ID\",\"order_id\":\"KEY\",\"status\":\"confirmed\",\"total_cents\":300}",` +
			`"[[\"confirmed\",300]]","[[1]]","[[1]]"]`,
		run: func(c *client, key string) []any {
			row := c.execute("orders/ProcessOrder", object{
				"order_id": key, "email": "ada@example.com", "cooling_off_ms": 1,
				"items": []object{{"sku": "apple", "quantity": 2, "price_cents": 150}},
			})
			return []any{
				row,
				c.query(`SELECT status, total_cents FROM orders WHERE order_id = $1`, key),
				c.query(`SELECT COUNT(*) FROM charges WHERE order_id = $1`, key),
				c.query(`SELECT COUNT(*) FROM notifications WHERE order_id = $1`, key),
			}
		},
	},
	{
		name: "approval", module: "modules/examples/approval",
		want: `["completed {\"by\":\"ada\",\"document\":\"KEY\",\"status\":\"approved\"}","[[\"approved\",\"ada\"]]"]`,
		run: func(c *client, key string) []any {
			execution := c.start("approval/RequestApproval", object{"document": key})
			c.settle(execution, "approved", object{"approved": true, "by": "ada"})
			return []any{
				c.wait(execution), c.query(`SELECT status, decided_by FROM approvals WHERE document = $1`, key),
			}
		},
	},
	{
		name: "transfer", module: "modules/examples/transfer", stormOnly: true,
		want: `["completed {\"from_balance_cents\":70,\"to_balance_cents\":130,\"transfer_id\":\"KEY\"}","[[\"KEYfrom\",70],[\"KEYto\",130]]"]`,
		run: func(c *client, key string) []any {
			for _, account := range []string{"from", "to"} {
				c.execute("transfer/OpenAccount", object{"account": key + account, "balance_cents": 100})
			}
			row := c.execute("transfer/Transfer", object{
				"transfer_id": key, "from": key + "from", "to": key + "to", "amount_cents": 30,
			})
			return []any{
				row,
				c.query(
					`SELECT account, balance_cents FROM accounts WHERE account LIKE $1 || '%' ORDER BY account`, key,
				),
			}
		},
	},
	{
		name: "saga", module: "modules/examples/saga", stormOnly: true,
		want: `["completed {\"booked\":[],\"compensated\":[\"hotel\",\"flight\"],\"reason\":\"CR-3001: there is no car left\",\"status\":\"compensated\",\"trip_id\":\"KEY\"}",` +
			`"[[1,\"book\",\"flight\"],[2,\"book\",\"hotel\"],[3,\"give_back\",\"hotel\"],[4,\"give_back\",\"flight\"]]"]`,
		run: func(c *client, key string) []any {
			row := c.execute("saga/BookTrip", object{"trip_id": key, "fail_at": "car", "pause_ms": 1})
			return []any{
				row,
				c.query(`SELECT position, action, part FROM booking_log WHERE trip_id = $1 ORDER BY position`, key),
			}
		},
	},
	{
		// Both steps fail once after their statement, which is rolled back.
		name: "count", module: "tests/guests/conformance",
		want: `["completed [{\"value\":1},{\"value\":2},{\"value\":2}]"]`,
		run: func(c *client, key string) []any {
			return []any{c.execute("conformance/Count", object{"name": key, "then": "fail once"})}
		},
	},
	{
		name: "parent", module: "tests/guests/races",
		want: `["completed \"there over\"","[[\"there over\"]]"]`,
		run: func(c *client, key string) []any {
			execution := c.start("races/Parent", key)
			late := "races/Late/" + key + "-late"
			c.settle(late, "early", "there")
			c.settle(late, "gate", "open")
			return []any{c.wait(execution), c.query(`SELECT step FROM races WHERE execution = $1`, execution)}
		},
	},
	{
		name: "resolve", module: "tests/guests/races",
		want: `["completed [true,false]"]`,
		run: func(c *client, key string) []any {
			return []any{c.execute("races/Resolve", key)}
		},
	},
	{
		name: "interrupt", module: "tests/guests/races",
		want: `["interrupted CR-2007: the execution was asked to stop: enough"]`,
		run: func(c *client, key string) []any {
			execution := c.start("races/Long", key)
			c.do(func(ctx context.Context) error {
				err := c.engine.Executions().Interrupt(ctx, "", execution, "enough")
				if errors.Is(err, &abi.Error{Code: abi.CodeAlreadyOver}) {
					return nil
				}
				return err
			})
			return []any{c.wait(execution)}
		},
	},
	{
		// All that an engine reads when it starts, and deletes later.
		name: "restarted", module: "tests/guests/races", alone: true,
		want: `["completed \"open\"",true,["races"],"gone"]`,
		run: func(c *client, key string) []any {
			execution := c.start("races/Long", key)
			c.restart()
			require.Equal(c.t, execution, c.start("races/Long", key), "it is found again")
			c.settle(execution, "gate", "open")
			ended := c.wait(execution)
			c.push("races", "tests/guests/races")
			listed := c.listed(execution)
			names := c.deployments()
			c.restart(func(cfg *host.Config) { cfg.Retention = time.Millisecond })
			defer c.restart()
			return []any{ended, listed, names, c.gone(execution)}
		},
	},
}

// client repeats the requests that failed because of the store.
type client struct {
	t       *testing.T
	engine  *host.Engine
	store   journal.Store // the healthy store
	failing *failing      // the one of the engine; nil if it is healthy
	evict   bool
}

// setup starts an engine over a store that can be made to fail.
func setup(t *testing.T, kind, module string, evict bool) *client {
	c := &client{t: t, store: harness.Store(t, kind), evict: evict}
	c.failing = &failing{Store: c.store}
	c.restart()
	c.push(path.Base(module), module)
	t.Cleanup(func() { _ = c.engine.Stop(context.Background()) })
	return c
}

// restart ends the engine, if there is one, and starts another.
func (c *client) restart(options ...func(*host.Config)) {
	c.t.Helper()
	if c.engine != nil {
		require.NoError(c.t, c.engine.Stop(context.Background()))
	}
	cfg := host.Config{
		Store:        c.failing,
		Logger:       harness.Logger(c.t),
		Runtime:      sandbox.Runtime(c.t),
		UnderTest:    &undertest.Options{EvictAlways: c.evict},
		DrainTimeout: time.Second,
		TurnTimeout:  harness.Patience,
	}
	for _, o := range options {
		o(&cfg)
	}
	c.do(func(ctx context.Context) error {
		e, err := host.New(cfg)
		require.NoError(c.t, err)
		if err := e.Start(ctx); err != nil {
			_ = e.Stop(ctx)
			return err
		}
		c.engine = e
		return nil
	})
	c.do(func(ctx context.Context) error { return c.engine.Ready(ctx) })
}

func (c *client) push(name, module string) {
	c.t.Helper()
	binary := harness.Module(c.t, module)
	c.do(func(ctx context.Context) error {
		_, err := c.engine.Deployments().Push(ctx, host.PushRequest{Name: name, Binary: binary})
		return err
	})
}

// listed tells whether an execution is in the list.
func (c *client) listed(execution string) (found bool) {
	c.t.Helper()
	c.do(func(ctx context.Context) error {
		page, err := c.engine.Observer().List(ctx, journal.Filter{Namespace: host.DefaultNamespace, Limit: 1000})
		found = slices.ContainsFunc(page.Executions, func(row journal.Execution) bool {
			return row.Name() == execution
		})
		return err
	})
	return found
}

// deployments are the names of the deployments.
func (c *client) deployments() (names []string) {
	c.t.Helper()
	c.do(func(ctx context.Context) error {
		all, err := c.engine.Deployments().List(ctx, "")
		names = nil
		for _, d := range all {
			names = append(names, d.Name)
		}
		return err
	})
	return names
}

// gone waits until an execution was deleted.
func (c *client) gone(execution string) string {
	c.t.Helper()
	harness.Eventually(c.t, execution+" is deleted", func() bool {
		_, err := c.engine.Observer().Poll(c.t.Context(), "", execution)
		return abi.CodeOf(err) == abi.CodeExecutionNotFound
	})
	return "gone"
}

func (c *client) do(request func(ctx context.Context) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), harness.Patience)
	defer cancel()
	for {
		err := request(ctx)
		if err == nil {
			return
		}
		require.NoError(c.t, ctx.Err(), "no answer; last: %v", err)
		code := abi.CodeOf(err)
		require.True(
			c.t, code == abi.CodeStore || code == abi.CodeDeadline || code == abi.CodeExecutionNotFound, "%v", err,
		)
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *client) start(workflow string, input any) (name string) {
	c.t.Helper()
	c.do(func(ctx context.Context) error {
		row, _, err := c.engine.Launcher().Start(ctx, host.StartRequest{
			Workflow: workflow, Input: harness.Encode(c.t, input),
		})
		if err == nil {
			name = row.Name()
		}
		return err
	})
	return name
}

// settle settles a deferred. An earlier try may already have settled it.
func (c *client) settle(execution, name string, value any) {
	c.t.Helper()
	c.do(func(ctx context.Context) error {
		err := c.engine.Executions().Settle(ctx, "", execution, journal.Deferred{
			Name: name, Value: harness.Encode(c.t, value),
		})
		if errors.Is(err, &abi.Error{Code: abi.CodeDeferredSettled}) {
			return nil
		}
		return err
	})
}

// wait waits for the end and renders it.
func (c *client) wait(execution string) (seen string) {
	c.t.Helper()
	c.do(func(ctx context.Context) error {
		row, err := c.engine.Observer().Wait(ctx, "", execution)
		if err == nil {
			row, err = c.engine.Observer().Whole(ctx, row)
		}
		if err != nil {
			return err
		}
		if row.Error != nil {
			seen = string(row.State) + " " + row.Error.Error()
		} else {
			seen = string(row.State) + " " + render(c.t, harness.Decode[any](c.t, row.Value))
		}
		return nil
	})
	return seen
}

func (c *client) execute(workflow string, input any) string {
	c.t.Helper()
	return c.wait(c.start(workflow, input))
}

// query reads the tables of guests. Like the transaction of an activity it is repeated if the journal has waited for it
// for too long.
func (c *client) query(sql string, args ...any) string {
	c.t.Helper()
	for {
		rows, err := c.queryOnce(sql, args)
		if errors.Is(err, journal.ErrConflict) {
			continue
		}
		require.NoError(c.t, err)
		return render(c.t, rows)
	}
}

func (c *client) queryOnce(sql string, args []any) ([][]any, error) {
	c.t.Helper()
	tx, err := c.store.BeginGuest(c.t.Context(), host.DefaultNamespace)
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, tx.Rollback(context.Background())) }()
	_, rows, err := tx.Query(c.t.Context(), sql, args)
	return rows, err
}

func render(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// varying matches ids that are derived from the key.
var varying = regexp.MustCompile(`[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// observe runs a scenario and renders everything it saw, without its key.
func (s scenario) observe(c *client, key string) string {
	c.t.Helper()
	return varying.ReplaceAllString(strings.ReplaceAll(render(c.t, s.run(c, key)), key, "KEY"), "ID")
}
