package main

import (
	"fmt"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// MaxItems is how many different items a cart holds: a state is saved whole.
const MaxItems = 100

// Item is something in a cart.
type Item struct {
	SKU        string `json:"sku"`
	Quantity   int64  `json:"quantity"`
	PriceCents int64  `json:"price_cents"`
}

// Cart is the state of a cart.
type Cart struct {
	Items []Item `json:"items"`
	// Orders counts the checkouts; each gives an order of its own.
	Orders int64 `json:"orders"`
}

// Carts are the carts; the id of one is its customer.
var Carts = cruster.NewStatefulEntity[Cart]("Cart", cruster.Concurrency(4))

func (c *Cart) find(sku string) *Item {
	for i := range c.Items {
		if c.Items[i].SKU == sku {
			return &c.Items[i]
		}
	}
	return nil
}

func (c *Cart) total() int64 {
	var cents int64
	for _, i := range c.Items {
		cents += i.Quantity * i.PriceCents
	}
	return cents
}

// Add puts something into the cart, and returns the new total.
var Add = cruster.NewOperation(Carts, "add", func(_ *cruster.EntityContext, c *Cart, add Item) (int64, error) {
	if add.SKU == "" || add.Quantity < 1 || add.PriceCents < 0 {
		return 0, cruster.Errorf("invalid_item", "an item needs a sku, a quantity and a price")
	}
	if item := c.find(add.SKU); item != nil {
		item.Quantity += add.Quantity
		item.PriceCents = add.PriceCents
		return c.total(), nil
	}
	if len(c.Items) == MaxItems {
		return 0, cruster.Errorf("cart_full", "the cart holds %d items already", MaxItems)
	}
	c.Items = append(c.Items, add)
	return c.total(), nil
})

// Remove takes something out of the cart, and returns the new total.
var Remove = cruster.NewOperation(Carts, "remove", func(_ *cruster.EntityContext, c *Cart, sku string) (int64, error) {
	for i, item := range c.Items {
		if item.SKU == sku {
			c.Items = append(c.Items[:i], c.Items[i+1:]...)
			return c.total(), nil
		}
	}
	return 0, cruster.Errorf("no_such_item", "there is no %s in the cart", sku)
})

// Total is the price of the cart. It writes nothing.
var Total = cruster.NewReadOnly(Carts, "total", func(_ *cruster.ReadContext, c Cart, _ cruster.None) (int64, error) {
	return c.total(), nil
})

// Checkout starts the workflow that places the order, empties the cart, and returns the id of the order. All of that is
// one commit: there is no order without an empty cart.
var Checkout = cruster.NewOperation(
	Carts,
	"checkout",
	func(ctx *cruster.EntityContext, c *Cart, _ cruster.None) (string, error) {
		if len(c.Items) == 0 {
			return "", cruster.Errorf("cart_empty", "there is nothing in the cart")
		}
		c.Orders++
		order := Order{ID: fmt.Sprintf("%s-%d", ctx.ID(), c.Orders), Items: int64(len(c.Items)), TotalCents: c.total()}
		c.Items = c.Items[:0]
		return order.ID, PlaceOrder.Client().StartFrom(ctx, order)
	},
)
