package guide

import (
	"errors"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Call an activity and retry it.

var ChargeTwice = cruster.NewWorkflow("ChargeTwice", chargeTwice)

func chargeTwice(ctx cruster.Context, o Order) ([]string, error) {
	id, err := Charge.Call(ctx, o)
	if err != nil {
		return nil, err
	}
	ids := []string{id}
	id, err = Charge.With(cruster.ActivityKey("charge-"+o.ID), cruster.Retries(1)).Call(ctx, o)
	return append(ids, id), err
}

// Share activities between workflows.

var payments = cruster.NewGroup("Payments", cruster.Retries(5))

var Refund = cruster.NewGroupActivity(payments, "Refund", refund)

func refund(ctx *cruster.ActivityContext, chargeID string) (bool, error) {
	n, err := ctx.Tx().Exec(`DELETE FROM charges WHERE id = $1`, chargeID)
	return n == 1, err
}

// Change the database in an activity.

type Customer struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

var Spend = cruster.NewActivity("spend", spend)

// spend returns the balance of ada, and the sum of all customers.
func spend(ctx *cruster.ActivityContext, _ cruster.None) ([]int64, error) {
	n, err := ctx.Tx().Exec(`UPDATE customers SET cents = cents - $1 WHERE id = $2`, 100, "ada")
	if err != nil || n == 0 {
		return nil, err
	}
	customers, err := cruster.Query[Customer](ctx.Tx(), `SELECT id, cents FROM customers`)
	if err != nil {
		return nil, err
	}
	sum := int64(0)
	for _, c := range customers {
		sum += c.Cents
	}
	cents, err := cruster.QueryRow[int64](ctx.Tx(), `SELECT cents FROM customers WHERE id = $1`, "ada")
	if errors.Is(err, cruster.ErrNoRows) {
		return nil, nil
	}
	return []int64{cents, sum}, err
}

var SpendOnce = cruster.NewWorkflow("SpendOnce", Spend.Call)

var _ = cruster.Migrations(cruster.Migration{
	Version: 2, Name: "customers",
	SQL: `CREATE TABLE customers (id TEXT PRIMARY KEY, cents BIGINT); INSERT INTO customers (id, cents) VALUES ('ada', 500), ('bob', 300)`,
})

// Make an HTTP call in an activity.

var Notify = cruster.NewActivity("notify", notify, cruster.Retries(3))

func notify(ctx *cruster.ActivityContext, body Order) (int, error) {
	url, _ := ctx.Config("notify_url")
	res, err := ctx.HTTP().PostJSON(url, body, cruster.Header{Name: "Idempotency-Key", Value: ctx.IdempotencyKey()})
	if err == nil {
		err = res.Err()
	}
	return res.Status, err
}

var NotifyOnce = cruster.NewWorkflow("NotifyOnce", Notify.Call)
