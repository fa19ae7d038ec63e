// Package guide is the code that docs/writing-workflows-go.md shows, a file for each of its
// subjects. It begins with the program of the page.
package guide

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

type Order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
	Note  string `json:"note,omitempty"`
}

var Charge = cruster.NewActivity("charge", charge,
	cruster.Retries(5), cruster.ExponentialBackoff(time.Second), cruster.Timeout(30*time.Second))

func charge(ctx *cruster.ActivityContext, o Order) (string, error) {
	id := ctx.IdempotencyKey()
	_, err := ctx.Tx().Exec(`INSERT INTO charges (id, order_id, cents) VALUES ($1, $2, $3)`, id, o.ID, o.Cents)
	return id, err
}

var ProcessOrder = cruster.NewWorkflow("ProcessOrder", processOrder,
	cruster.RawKey(func(o Order) string { return o.ID }))

func processOrder(ctx cruster.Context, o Order) (string, error) {
	id, err := Charge.Call(ctx, o)
	if err != nil {
		return "", err
	}
	return id, cruster.Sleep(ctx, 14*24*time.Hour)
}

var _ = cruster.Migrations(cruster.Migration{
	Version: 1, Name: "charges",
	SQL: `CREATE TABLE charges (id TEXT PRIMARY KEY, order_id TEXT, cents BIGINT)`,
})
