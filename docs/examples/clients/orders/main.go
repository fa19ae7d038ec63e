// Command orders is the program of docs/clients-go.md, for a host with the examples orders, cart and approval.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
)

type Item struct {
	SKU        string `json:"sku"`
	Quantity   int64  `json:"quantity"`
	PriceCents int64  `json:"price_cents"`
}

type OrderRequest struct {
	OrderID      string `json:"order_id"`
	Email        string `json:"email"`
	Items        []Item `json:"items"`
	CoolingOffMS int64  `json:"cooling_off_ms,omitempty"`
}

type OrderResult struct {
	OrderID    string `json:"order_id"`
	ChargeID   string `json:"charge_id"`
	TotalCents int64  `json:"total_cents"`
	Status     string `json:"status"`
}

type ApprovalRequest struct {
	Document string `json:"document"`
}

type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
}

type ApprovalResult struct {
	Status string `json:"status"`
	By     string `json:"by"`
}

type SubscriptionRequest struct {
	Customer string `json:"customer"`
	Plan     string `json:"plan"`
}

type NewPlan struct {
	Plan string `json:"plan"`
}

type Cancellation struct {
	Reason string `json:"reason"`
}

type SubscriptionStatus struct {
	Plan     string `json:"plan"`
	Canceled bool   `json:"canceled"`
}

type Cart struct {
	Items  []Item `json:"items"`
	Orders int64  `json:"orders"`
}

func main() {
	if err := all(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func all(ctx context.Context) error {
	c, err := client.Dial(cmp.Or(os.Getenv("CRUSTER_ADDR"), "127.0.0.1:7600"))
	if err != nil {
		return err
	}
	defer c.Close()
	for _, part := range []func(context.Context, *client.Client) error{
		workflows, refusals, deferreds, messages, entities,
	} {
		if err := part(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func workflows(ctx context.Context, c *client.Client) error {
	order := OrderRequest{
		OrderID:      "42",
		Email:        "ada@example.com",
		Items:        []Item{{SKU: "tea", Quantity: 2, PriceCents: 450}},
		CoolingOffMS: 100,
	}
	orders := client.Workflow[OrderRequest, OrderResult](c, "orders/ProcessOrder")
	run, err := orders.Start(ctx, order) // durable by now
	if err != nil {
		return err
	}
	fmt.Println("started", run.Execution())
	result, err := run.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d cents\n", result.Status, result.TotalCents)

	// The order id is the key: an order that is sent twice is processed once.
	again, err := orders.Execute(ctx, order)
	if err != nil {
		return err
	}
	times := "twice"
	if again.ChargeID == result.ChargeID {
		times = "once"
	}
	fmt.Println("charged", times)
	return nil
}

func refusals(ctx context.Context, c *client.Client) error {
	// A workflow that fails: the error has its state, and the type that the workflow gave it.
	_, err := client.Workflow[OrderRequest, OrderResult](c, "orders/ProcessOrder").Execute(ctx, OrderRequest{
		OrderID: "43",
	})
	var failed *client.RunError
	if errors.As(err, &failed) {
		fmt.Println(failed.State, failed.Cause.Code, failed.Cause.Type)
	}
	// A call that fails: the error has a code, and a hint that says what to do.
	_, err = client.Workflow[OrderRequest, OrderResult](c, "nowhere/ProcessOrder").Start(ctx, OrderRequest{
		OrderID: "43",
	})
	var refused *abi.Error
	if errors.As(err, &refused) {
		fmt.Printf("%s: %s\n", refused.Code, refused.Message)
	}
	return nil
}

func deferreds(ctx context.Context, c *client.Client) error {
	run, err := client.Workflow[ApprovalRequest, ApprovalResult](c, "approval/RequestApproval").Start(
		ctx, ApprovalRequest{Document: "budget"},
	)
	if err != nil {
		return err
	}
	if err := run.Resolve(ctx, "approved", Decision{Approved: true, By: "ada"}); err != nil {
		return err
	}
	result, err := run.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Println(result.Status, "by", result.By)
	return nil
}

var (
	changePlan = client.Signal[NewPlan]("change_plan")
	cancelPlan = client.Signal[Cancellation]("cancel")
	status     = client.Query[any, SubscriptionStatus]("status")
)

func messages(ctx context.Context, c *client.Client) error {
	subscriptions := client.Workflow[SubscriptionRequest, SubscriptionStatus](c, "cart/Subscription")
	request := SubscriptionRequest{Customer: "ada", Plan: "small"}
	run, err := client.SendWithStart(ctx, subscriptions, request, changePlan, NewPlan{Plan: "large"})
	if err != nil {
		return err
	}
	// A signal is durable once it is sent; the workflow receives it in its own time.
	err = until(ctx, c, run.Execution(), func(s SubscriptionStatus) bool { return s.Plan == "large" })
	if err != nil {
		return err
	}
	now, err := run.Poll(ctx)
	if err != nil {
		return err
	}
	fmt.Println("state:", now.State)

	err = cancelPlan.Send(ctx, c, run.Execution(), Cancellation{Reason: "too much tea"})
	if err != nil {
		return err
	}
	err = until(ctx, c, run.Execution(), func(s SubscriptionStatus) bool { return s.Canceled })
	if err != nil {
		return err
	}
	if err := run.Interrupt(ctx, "the customer has moved"); err != nil {
		return err
	}
	_, err = run.Wait(ctx)
	var interrupted *client.RunError
	if errors.As(err, &interrupted) {
		fmt.Printf("%s: %s\n", interrupted.State, interrupted.Cause.Code)
	}
	return nil
}

// until asks until the subscription is as wanted.
func until(ctx context.Context, c *client.Client, execution string, wanted func(SubscriptionStatus) bool) error {
	for {
		s, err := status.Ask(ctx, c, execution, nil)
		if err != nil || wanted(s) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func entities(ctx context.Context, c *client.Client) error {
	add := client.Operation[Item, int64](c, "cart/Cart", "add").On("ada")
	total, err := add.Call(ctx, Item{SKU: "tea", Quantity: 2, PriceCents: 450})
	if err != nil {
		return err
	}
	fmt.Println("total:", total)
	// A request with an id of its own is performed once, however often it is made.
	for range 2 {
		total, err := add.WithRequestID("milk-1").Call(ctx, Item{SKU: "milk", Quantity: 1, PriceCents: 450})
		if err != nil {
			return err
		}
		fmt.Println("total:", total)
	}
	_, err = client.Operation[string, int64](c, "cart/Cart", "remove").On("ada").Call(ctx, "coffee")
	var refused *abi.Error
	if errors.As(err, &refused) {
		fmt.Printf("%s %s: %s\n", refused.Code, refused.Type, refused.Message)
	}
	cart, err := client.EntityState[Cart](ctx, c, "cart/Cart/ada")
	if err != nil {
		return err
	}
	fmt.Println("items:", len(cart.Items))
	return nil
}
