package faults

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type object = map[string]any

// sandbox is shared by all engines of the package, so that a module is compiled
// once. It is never closed.
var sandbox struct {
	once    sync.Once
	runtime *wasm.Runtime
	err     error
}

// engine starts an engine.
func engine(t *testing.T, store journal.Store, options ...func(*host.Config)) *host.Engine {
	t.Helper()
	sandbox.once.Do(func() {
		sandbox.runtime, sandbox.err = wasm.New(context.Background(), wasm.Config{CacheDir: harness.CacheDir(t), Logger: harness.Logger(t)})
	})
	require.NoError(t, sandbox.err)
	return harness.Engine(t, store, append(options, func(c *host.Config) { c.Runtime = sandbox.runtime })...)
}

// scenario is one use of a module. run returns what it saw; the key is removed from
// that before two runs are compared.
type scenario struct {
	name, module string
	stormOnly    bool // for TestStorm only: other scenarios make the same kinds of calls
	run          func(c *client, key string) []any
}

var scenarios = []scenario{
	{"orders", "modules/examples/orders", false, func(c *client, key string) []any {
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
	}},
	{"approval", "modules/examples/approval", false, func(c *client, key string) []any {
		execution := c.start("approval/RequestApproval", object{"document": key})
		c.settle(execution, "approved", object{"approved": true, "by": "ada"})
		return []any{c.wait(execution), c.query(`SELECT status, decided_by FROM approvals WHERE document = $1`, key)}
	}},
	{"transfer", "modules/examples/transfer", true, func(c *client, key string) []any {
		for _, account := range []string{"from", "to"} {
			c.execute("transfer/OpenAccount", object{"account": key + account, "balance_cents": 100})
		}
		row := c.execute("transfer/Transfer", object{"transfer_id": key, "from": key + "from", "to": key + "to", "amount_cents": 30})
		return []any{row, c.query(`SELECT account, balance_cents FROM accounts WHERE account LIKE $1 || '%' ORDER BY account`, key)}
	}},
	{"saga", "modules/examples/saga", true, func(c *client, key string) []any {
		row := c.execute("saga/BookTrip", object{"trip_id": key, "fail_at": "car", "pause_ms": 1})
		return []any{row, c.query(`SELECT position, action, part FROM booking_log WHERE trip_id = $1 ORDER BY position`, key)}
	}},
	{"parent", "tests/guests/races", false, func(c *client, key string) []any {
		execution := c.start("races/Parent", key)
		late := "races/Late/" + key + "-late"
		c.settle(late, "early", "there")
		c.settle(late, "gate", "open")
		return []any{c.wait(execution), c.query(`SELECT step FROM races WHERE execution = $1`, execution)}
	}},
	{"resolve", "tests/guests/races", false, func(c *client, key string) []any {
		return []any{c.execute("races/Resolve", key)}
	}},
	{"interrupt", "tests/guests/races", false, func(c *client, key string) []any {
		execution := c.start("races/Long", key)
		c.do(func(ctx context.Context) error {
			err := c.engine.Interrupt(ctx, "", execution, "enough")
			if errors.Is(err, &abi.Error{Code: abi.CodeAlreadyOver}) {
				return nil
			}
			return err
		})
		return []any{c.wait(execution)}
	}},
}

// client repeats the requests that failed because of the store.
type client struct {
	t      *testing.T
	engine *host.Engine
	store  journal.Store // the healthy store
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
		require.True(c.t, code == abi.CodeStore || code == abi.CodeDeadline || code == abi.CodeExecutionNotFound, "%v", err)
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *client) start(workflow string, input any) (name string) {
	c.t.Helper()
	c.do(func(ctx context.Context) error {
		row, _, err := c.engine.StartWorkflow(ctx, host.StartRequest{Workflow: workflow, Input: harness.Encode(c.t, input)})
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
		err := c.engine.Settle(ctx, "", execution, journal.Deferred{Name: name, Value: harness.Encode(c.t, value)})
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
		row, err := c.engine.Wait(ctx, "", execution)
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

func (c *client) query(sql string, args ...any) string {
	c.t.Helper()
	tx, err := c.store.BeginGuest(c.t.Context(), host.DefaultNamespace)
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, tx.Rollback(context.Background())) }()
	_, rows, err := tx.Query(c.t.Context(), sql, args)
	require.NoError(c.t, err)
	return render(c.t, rows)
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
