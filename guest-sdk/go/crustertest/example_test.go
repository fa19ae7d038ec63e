package crustertest_test

import (
	"errors"
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

type order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

var (
	charge = cruster.NewActivity("charge", func(ctx *cruster.ActivityContext, o order) (string, error) {
		_, err := ctx.Tx().Exec(`INSERT INTO charges (order_id, cents) VALUES ($1, $2)`, o.ID, o.Cents)
		return "ch_" + o.ID, err
	}, cruster.Retries(3), cruster.ExponentialBackoff(time.Second), cruster.Timeout(10*time.Second))

	refund = cruster.NewActivity("refund", func(_ *cruster.ActivityContext, chargeID string) (string, error) {
		return "re_" + chargeID, nil
	})

	shipped = cruster.NewDeferred[string]("shipped")

	processOrder = cruster.NewWorkflow("processOrder", func(ctx cruster.Context, o order) (string, error) {
		id, err := charge.Call(ctx, o)
		if err != nil {
			return "", err
		}
		parcel, err := cruster.WithTimeout(ctx, 30*24*time.Hour, shipped.Future(ctx))
		if err == nil {
			return parcel, nil
		}
		if _, undo := refund.Call(cruster.Shield(ctx), id); undo != nil {
			return "", undo
		}
		return "", err
	}).Accepts(shipped)
)

// free is a stub that charges nothing.
func free(_ *cruster.ActivityContext, o order) (string, error) { return "ch_" + o.ID, nil }

// Activities are replaced with stubs; a month passes in no time.
func Example() {
	var h crustertest.History
	_, err := crustertest.Execute(processOrder, order{ID: "42", Cents: 300},
		crustertest.Stub(charge, free),
		crustertest.Record(&h))
	fmt.Println(err)
	fmt.Println(h.Duration())
	for _, step := range h.Steps() {
		fmt.Println(step)
	}
	// Output:
	// CR-2006: timed out
	// 720h0m0s
	// activity charge
	// deferred shipped
	// sleep 720h0m0s
	// activity refund
}

// A deferred is resolved from outside, two days after the start.
func ExampleResolveAfter() {
	parcel, err := crustertest.Execute(processOrder, order{ID: "42"},
		crustertest.Stub(charge, free),
		crustertest.ResolveAfter(48*time.Hour, shipped, "parcel 7"))
	fmt.Println(parcel, err)
	// Output: parcel 7 <nil>
}

// A deferred is rejected from outside.
func ExampleRejectAfter() {
	_, err := crustertest.Execute(processOrder, order{ID: "42"},
		crustertest.Stub(charge, free),
		crustertest.RejectAfter(time.Hour, shipped, cruster.Errorf("lost", "the parcel is lost")))
	fmt.Println(cruster.ErrorType(err), err)
	// Output: lost CR-2006: the parcel is lost
}

// A client asks the execution to stop; its cleanup still runs.
func ExampleInterruptAfter() {
	var h crustertest.History
	_, err := crustertest.Execute(processOrder, order{ID: "42"},
		crustertest.Stub(charge, free),
		crustertest.InterruptAfter(time.Hour, "the customer changed their mind"),
		crustertest.Record(&h))
	fmt.Println(err)
	fmt.Println(h.Steps()[len(h.Steps())-1])
	// Output:
	// CR-2007: the execution was asked to stop: the customer changed their mind
	// activity refund
}

// Errors of a stub are retried as with the real activity, in virtual time.
func ExampleStub_retries() {
	var h crustertest.History
	_, err := crustertest.Execute(processOrder, order{ID: "42"},
		crustertest.Stub(charge, func(ctx *cruster.ActivityContext, o order) (string, error) {
			if ctx.Attempt() <= 2 {
				return "", errors.New("the card terminal is busy")
			}
			return fmt.Sprint("ch_", ctx.Attempt()), nil
		}),
		crustertest.ResolveAfter(0, shipped, "parcel"),
		crustertest.Record(&h))
	fmt.Println(err, h.Duration())
	// Output: <nil> 3s
}

// Every attempt of an activity takes longer than its timeout.
func ExampleTakes() {
	var h crustertest.History
	_, err := crustertest.Execute(processOrder, order{ID: "42"},
		crustertest.Stub(charge, free),
		crustertest.Takes(charge, time.Minute),
		crustertest.Record(&h))
	fmt.Println(err)
	fmt.Println(h.Duration())
	// Output:
	// CR-2006: CR-3002: attempt 4 of activity "charge" took longer than 10s
	// 47s
}

var invoicing = cruster.NewWorkflow("invoicing", func(ctx cruster.Context, o order) (string, error) {
	return cruster.RemoteWorkflow[order, string]("billing/Invoice").Execute(ctx, o)
})

// Workflows of other deployments are replaced by name.
func ExampleStubWorkflow() {
	invoice, err := crustertest.Execute(invoicing, order{ID: "42"},
		crustertest.StubWorkflow("billing/Invoice", func(o order) (string, error) {
			return "invoice for " + o.ID, nil
		}))
	fmt.Println(invoice, err)
	// Output: invoice for 42 <nil>
}

// The history of an execution is replayed against the workflow's code.
func ExampleHistory_Replay() {
	var h crustertest.History
	_, err := crustertest.Execute(processOrder, order{ID: "42"},
		crustertest.ExecutionID("shop/processOrder/42"),
		crustertest.Stub(charge, free),
		crustertest.ResolveAfter(time.Hour, shipped, "parcel"),
		crustertest.Record(&h))
	fmt.Println(err, h.Replay())
	fmt.Print(h.String())
	// Output:
	// <nil> <nil>
	// shop/processOrder/42
	// 0s           issued 1 interrupted
	// 0s           issued 2 activity charge
	// 0s           delivered 2
	// 0s           issued 3 deferred shipped
	// 0s           issued 4 sleep 720h0m0s
	// 1h0m0s       delivered 3
	// 1h0m0s       canceled 4
}
