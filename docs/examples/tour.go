// Package tour uses every primitive of the Go SDK; docs/go-and-rust.md quotes it. tour.rs is the same in Rust.
package tour

import (
	"errors"
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

type Order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
	Note  string `json:"note,omitempty"`
}

type Receipt struct {
	Order  string `json:"order"`
	Charge string `json:"charge"`
}

type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
}

type Account struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

type Missing struct {
	Cents int64 `json:"cents"`
}

// A workflow whose key comes from the request.

var ProcessOrder = cruster.NewWorkflow("ProcessOrder", processOrder,
	cruster.RawKey(func(o Order) string { return o.ID }))

func processOrder(ctx cruster.Context, o Order) (Receipt, error) {
	charge, err := Charge.Call(ctx, o)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Order: o.ID, Charge: charge}, nil
}

var Charge = cruster.NewActivity("charge", charge,
	cruster.Retries(5), cruster.ExponentialBackoff(time.Second), cruster.Jitter(0.2), cruster.Timeout(30*time.Second))

func charge(ctx *cruster.ActivityContext, o Order) (string, error) {
	return ctx.IdempotencyKey(), nil
}

// Other keys.

type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

var Report = cruster.NewWorkflow("Report", report,
	cruster.HashedKey(func(r Range) [2]int64 { return [2]int64{r.From, r.To} }))

func report(ctx cruster.Context, r Range) (int64, error) { return r.To - r.From, nil }

var Sum = cruster.NewWorkflow("Sum", sum)

func sum(ctx cruster.Context, r Range) (int64, error) { return r.From + r.To, nil }

// Activities: calling them, and their abilities.

var payments = cruster.NewGroup("Payments", cruster.Retries(5), cruster.ExponentialBackoff(100*time.Millisecond))

var Refund = cruster.NewGroupActivity(payments, "refund", refund)

func refund(ctx *cruster.ActivityContext, charge string) (bool, error) { return true, nil }

var Price = cruster.NewGroupActivity(payments, "price", price, cruster.Timeout(5*time.Second))

func price(ctx *cruster.ActivityContext, sku string) (int64, error) { return 30, nil }

var Activities = cruster.NewWorkflow("Activities", activities)

func activities(ctx cruster.Context, o Order) (int64, error) {
	refunded, err := Refund.Call(ctx, o.ID)
	if err != nil || !refunded {
		return 0, err
	}
	price, err := Price.With(cruster.ActivityKey("price-"+o.ID), cruster.Retries(1)).Call(ctx, o.ID)
	return price, err
}

var SQL = cruster.NewActivity("sql", useSQL)

func useSQL(ctx *cruster.ActivityContext, id string) (int64, error) {
	tx := ctx.Tx()
	changed, err := tx.Exec(`UPDATE accounts SET cents = cents - $1 WHERE id = $2`, 100, id)
	if err != nil || changed == 0 {
		return 0, err
	}
	accounts, err := cruster.Query[Account](tx, `SELECT id, cents FROM accounts`)
	if err != nil || len(accounts) == 0 {
		return 0, err
	}
	cents, err := cruster.QueryRow[int64](tx, `SELECT cents FROM accounts WHERE id = $1`, id)
	if errors.Is(err, cruster.ErrNoRows) {
		return 0, nil
	}
	return cents, err
}

var Notify = cruster.NewActivity("notify", notify, cruster.Retries(3))

func notify(ctx *cruster.ActivityContext, text string) (int, error) {
	url, _ := ctx.Config("notify_url")
	response, err := ctx.HTTP().PostJSON(url, map[string]int{"attempt": ctx.Attempt()},
		cruster.Header{Name: "Idempotency-Key", Value: ctx.IdempotencyKey()})
	if err != nil {
		return 0, err
	}
	return response.Status, response.Err()
}

// Waiting.

var Approved = cruster.NewDeferred[Decision]("approved")

var Approvals = cruster.NewDynamicDeferred[Decision]("approve-")

var Waiting = cruster.NewWorkflow("Waiting", waiting).Accepts(Approved, Approvals)

func waiting(ctx cruster.Context, other string) (string, error) {
	err := cruster.Sleep(ctx, 30*24*time.Hour)
	if err != nil {
		return "", err
	}
	deadline := cruster.Now(ctx).Add(time.Minute)
	err = cruster.SleepUntil(ctx, deadline)
	if err != nil {
		return "", err
	}
	ada := Decision{Approved: true, By: "ada"}
	first, err := Approved.Resolve(ctx, ada)
	if err != nil || !first {
		return "", err
	}
	first, err = Approved.Reject(ctx, cruster.Errorf("refused", "no"))
	if err != nil || first {
		return "", err
	}
	first, err = Approved.ResolveIn(ctx, other, ada)
	if err != nil || !first {
		return "", err
	}
	decision, err := Approved.Await(ctx)
	if err != nil {
		return "", err
	}
	second, err := Approvals.Named(decision.By).Await(ctx)
	return second.By, err
}

// Several things at once.

var Parallel = cruster.NewWorkflow("Parallel", parallel).Accepts(Approved)

func parallel(ctx cruster.Context, skus []string) (int64, error) {
	total, err := together(ctx, skus)
	if err != nil {
		return 0, err
	}
	if _, err := choose(ctx); err != nil {
		return 0, err
	}
	pear := cruster.Async(ctx, func(ctx cruster.Context) (int64, error) {
		if err := cruster.Sleep(ctx, time.Second); err != nil {
			return 0, err
		}
		return Price.Call(ctx, "pear")
	})
	cents, err := pear.Await(ctx)
	if err != nil {
		return 0, err
	}
	pending := Price.Go(ctx, "plum")
	pending.Cancel(ctx) // cancels it
	return total + cents, nil
}

func together(ctx cruster.Context, skus []string) (int64, error) {
	var futures []cruster.Future[int64]
	for _, sku := range skus {
		futures = append(futures, Price.Go(ctx, sku))
	}
	prices, err := cruster.All(ctx, futures...)
	if err != nil {
		return 0, err
	}
	apple, refunded := Price.Go(ctx, "apple"), Refund.Go(ctx, "ch_1")
	cents, err := apple.Await(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := refunded.Await(ctx); err != nil {
		return 0, err
	}
	i, cheapest, err := cruster.First(ctx, futures...)
	return prices[i] + cents + cheapest, err
}

func choose(ctx cruster.Context) (by string, err error) {
	waiting := Approved.Future(ctx)
	selected := cruster.Select(ctx,
		cruster.On(waiting, func(d Decision, failed error) { by, err = d.By, failed }),
		cruster.After(time.Minute, func() { by = "no one" }),
	)
	if selected != nil {
		return "", selected
	}
	decision, err := cruster.WithTimeout(ctx, time.Minute, Approved.Future(ctx))
	if errors.Is(err, cruster.ErrTimeout) {
		return "", nil
	}
	return decision.By, err
}

// Other workflows.

var Callers = cruster.NewWorkflow("Callers", callers)

func callers(ctx cruster.Context, o Order) (string, error) {
	receipt, err := ProcessOrder.Client().Execute(ctx, o)
	if err != nil {
		return receipt.Charge, err
	}
	id, err := ProcessOrder.Client().Start(ctx, o)
	if err != nil {
		return "", err
	}
	keyed := ProcessOrder.Client().WithKeyRaw("order-42").Go(ctx, o)
	status, err := ProcessOrder.Client().Poll(ctx, id)
	if err != nil {
		return "", err
	}
	left := ProcessOrder.Client().OnCancel(cruster.AbandonChild).Go(ctx, o)
	if _, err := left.Await(ctx); err != nil {
		return "", err
	}
	if err := ProcessOrder.Client().Interrupt(ctx, id, "out of stock"); err != nil {
		return "", err
	}
	billing := cruster.RemoteWorkflow[Order, Receipt]("billing/Invoice")
	invoice, err := billing.Execute(ctx, o)
	if err != nil {
		return invoice.Charge, err
	}
	if receipt, err = keyed.Await(ctx); err != nil {
		return receipt.Charge, err
	}
	return status.State, nil
}

// Errors.

var Failures = cruster.NewWorkflow("Failures", failures)

func failures(ctx cruster.Context, o Order) (string, error) {
	_, err := ChargeCard.Call(ctx, o.Cents)
	switch cruster.ErrorType(err) {
	case "card_declined":
		return "declined", nil
	case "insufficient_funds":
		missing, _ := cruster.Details[Missing](err)
		return "it lacks money", cruster.Sleep(ctx, time.Duration(missing.Cents))
	}
	return "charged", err
}

var ChargeCard = cruster.NewActivity("charge_card", chargeCard)

func chargeCard(ctx *cruster.ActivityContext, cents int64) (cruster.None, error) {
	var none cruster.None
	switch cents {
	case 0:
		return none, cruster.Errorf("card_declined", "card %s was declined", "4242")
	case 1:
		return none, cruster.NonRetryable(cruster.WithDetails(
			cruster.Errorf("insufficient_funds", "there is too little"), Missing{Cents: 5}))
	}
	return none, nil
}

// Interrupts.

var Careful = cruster.NewWorkflow("Careful", careful).Accepts(Approved)

func careful(ctx cruster.Context, charge string) (string, error) {
	decision, err := Approved.Await(ctx)
	if errors.Is(err, cruster.ErrInterrupted) {
		if _, undo := Refund.Call(cruster.Shield(ctx), charge); undo != nil {
			return "", undo
		}
		cruster.Logger(ctx).Info("stopped", "reason", cruster.InterruptReason(ctx))
		return "", err // the execution ends as interrupted
	}
	return decision.By, err
}

// Time, random numbers, ids, logs.

var Surroundings = cruster.NewWorkflow("Surroundings", surroundings)

func surroundings(ctx cruster.Context, sides uint64) (string, error) {
	now := cruster.Now(ctx)
	dice := 1 + cruster.Rand(ctx).Uint64N(sides)
	id := cruster.UUID(ctx)
	cruster.Logger(ctx).Info("rolled", "execution", cruster.ExecutionID(ctx), "dice", dice, "at", now)
	return id, nil
}

// A change that runs under way do not take.

var Taxed = cruster.NewWorkflow("Taxed", taxed)

func taxed(ctx cruster.Context, o Order) (string, error) {
	if cruster.Patched(ctx, "tax") {
		o.Cents += o.Cents / 5
	}
	return Take.Call(ctx, o)
}

var Take = cruster.NewActivity("take", take)

func take(_ *cruster.ActivityContext, o Order) (string, error) {
	return fmt.Sprint(o.Cents, " for ", o.ID), nil
}

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "accounts", SQL: `CREATE TABLE accounts (id TEXT PRIMARY KEY, cents BIGINT)`},
	cruster.Migration{
		Version: 2,
		Name:    "index",
		Dialect: cruster.Postgres,
		SQL:     `CREATE INDEX accounts_cents ON accounts USING brin (cents)`,
	},
)
