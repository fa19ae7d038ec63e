// Command billing charges customers for one period after the other, for as long as they stay. A workflow that runs for
// years continues as a new run now and then, so that its journal stays short. Once a day a schedule that the module
// declares adds up the income.
package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// PeriodsPerRun is how many periods a run charges before the next one takes its place.
const PeriodsPerRun = 100

// BillingRequest is the request of Billing, and all that one run tells the next.
type BillingRequest struct {
	Customer string `json:"customer"`
	// Cents is the price of a period.
	Cents int64 `json:"cents"`
	// PeriodMS is how long a period is, in milliseconds. Defaults to 30 days.
	PeriodMS int64 `json:"period_ms,omitempty"`
	// Charged is how many periods were charged by the runs before.
	Charged int64 `json:"charged,omitempty"`
}

// BillingResult is the result of Billing.
type BillingResult struct {
	Charged int64  `json:"charged"`
	Reason  string `json:"reason,omitempty"`
}

// NewPlan is the value of the signal "change_plan".
type NewPlan struct {
	Cents int64 `json:"cents"`
}

// Cancellation is the value of the signal "cancel".
type Cancellation struct {
	Reason string `json:"reason,omitempty"`
}

// The signals of an execution, and its values that are seen from outside:
//
//	cruster-host workflow signal EXECUTION change_plan --input '{"cents":700}'
//	cruster-host workflow signal EXECUTION cancel --input '{"reason":"moved away"}'
//	cruster-host workflow state EXECUTION charged
//	cruster-host workflow list --where customer=ada
var (
	ChangePlan = cruster.NewSignal[NewPlan]("change_plan")
	Cancel     = cruster.NewSignal[Cancellation]("cancel")
	Charged    = cruster.NewState[int64]("charged")
	Customer   = cruster.NewAttribute[string]("customer")
)

// Billing charges a customer for one period after the other, until the customer cancels. There is one per customer.
var Billing = cruster.NewWorkflow(
	"Billing", billing, cruster.RawKey(func(r BillingRequest) string { return r.Customer }),
).
	Accepts(Cancel, ChangePlan).Publishes(Charged, Customer)

func billing(ctx cruster.Context, req BillingRequest) (BillingResult, error) {
	if err := Customer.Set(ctx, req.Customer); err != nil {
		return BillingResult{}, err
	}
	for range PeriodsPerRun {
		if _, err := Charge.Call(ctx, Period{
			Customer: req.Customer, Number: req.Charged + 1, Cents: req.Cents,
		}); err != nil {
			return BillingResult{}, err
		}
		req.Charged++
		if err := Charged.Set(ctx, req.Charged); err != nil {
			return BillingResult{}, err
		}
		canceled, reason, err := serve(ctx, &req)
		if err != nil || canceled {
			return BillingResult{Charged: req.Charged, Reason: reason}, err
		}
	}
	// A signal that comes from now on is the next run's.
	return BillingResult{}, cruster.ContinueAsNew(req)
}

func (r BillingRequest) period() time.Duration {
	if r.PeriodMS > 0 {
		return time.Duration(r.PeriodMS) * time.Millisecond
	}
	return 30 * 24 * time.Hour
}

// serve ends at the end of a period, or when the customer cancels. Another plan counts from the next period on.
func serve(ctx cruster.Context, req *BillingRequest) (canceled bool, reason string, err error) {
	end := cruster.Timer(ctx, req.period())
	for over := false; !over; {
		var failed error
		err := cruster.Select(ctx,
			cruster.On(end, func(_ cruster.None, err error) { over, failed = true, err }),
			cruster.On(Cancel.Future(ctx), func(c Cancellation, err error) {
				over, canceled, reason, failed = true, err == nil, c.Reason, err
			}),
			cruster.On(ChangePlan.Future(ctx), func(n NewPlan, err error) {
				if failed = err; err == nil {
					req.Cents = n.Cents
				}
			}))
		if err != nil {
			return false, "", err
		}
		if failed != nil {
			return false, "", failed
		}
	}
	return canceled, reason, nil
}

// Period is a period that a customer is charged for.
type Period struct {
	Customer string `json:"customer"`
	Number   int64  `json:"number"`
	Cents    int64  `json:"cents"`
}

// Charge charges a customer for a period: once, whatever becomes of the host.
var Charge = cruster.NewActivity("charge", charge, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond))

func charge(ctx *cruster.ActivityContext, p Period) (bool, error) {
	_, err := ctx.Tx().Exec(
		`INSERT INTO billing_charges (customer, period, cents) VALUES ($1, $2, $3)`, p.Customer, p.Number, p.Cents,
	)
	return err == nil, err
}

// Report adds up the charges so far.
var Report = cruster.NewWorkflow("Report", func(ctx cruster.Context, _ cruster.None) (int64, error) {
	return Sum.Call(ctx, cruster.None{})
})

// Daily starts a report every night: it is there as long as the module is deployed.
var Daily = cruster.NewSchedule(
	"daily", Report, cruster.None{}, cruster.Cron("0 3 * * *"), cruster.Zone("Europe/Zurich"),
)

// Sum is the sum of the charges so far, in cents.
var Sum = cruster.NewActivity("sum", func(ctx *cruster.ActivityContext, _ cruster.None) (int64, error) {
	return cruster.QueryRow[int64](ctx.Tx(), `SELECT CAST(COALESCE(SUM(cents), 0) AS BIGINT) FROM billing_charges`)
})

var _ = cruster.Migrations(cruster.Migration{Version: 1, Name: "charges", SQL: `
CREATE TABLE billing_charges (
	customer TEXT NOT NULL,
	period   BIGINT NOT NULL,
	cents    BIGINT NOT NULL,
	PRIMARY KEY (customer, period)
)`})

func main() {}
