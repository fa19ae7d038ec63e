// Command cart is a shop in two parts. A shopping cart is an entity: it is called by its id, keeps a state and answers
// at once (cart.go); its checkout starts the workflow that places the order (order.go). A subscription is a workflow:
// it lives for a year, takes signals and answers a query (subscription.go).
package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "orders", SQL: `
CREATE TABLE cart_orders (
	order_id    TEXT PRIMARY KEY,
	items       BIGINT NOT NULL,
	total_cents BIGINT NOT NULL
)`},
	cruster.Migration{Version: 2, Name: "charges", SQL: `
CREATE TABLE cart_charges (
	customer TEXT NOT NULL,
	period   BIGINT NOT NULL,
	plan     TEXT NOT NULL,
	PRIMARY KEY (customer, period)
)`},
)

func main() {}
