package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// SubscriptionRequest is the request of Subscription.
type SubscriptionRequest struct {
	Customer string `json:"customer"`
	Plan     string `json:"plan"`
	// PeriodMS is how long a period is, in milliseconds. Defaults to 30 days.
	PeriodMS int64 `json:"period_ms,omitempty"`
	// Periods is how many there are. Defaults to 12.
	Periods int64 `json:"periods,omitempty"`
}

// NewPlan is the value of the signal "change_plan".
type NewPlan struct {
	Plan string `json:"plan"`
}

// Cancellation is the value of the signal "cancel".
type Cancellation struct {
	Reason string `json:"reason,omitempty"`
}

// SubscriptionStatus is the answer to the query "status", and the result of Subscription.
type SubscriptionStatus struct {
	// Plan is the plan that the next period is charged for.
	Plan string `json:"plan"`
	// Charged is how many periods were charged.
	Charged int64 `json:"charged"`
	// Canceled tells that the customer wants no further period.
	Canceled bool   `json:"canceled"`
	Reason   string `json:"reason,omitempty"`
}

// The signals and the query of a subscription:
//
//	cruster-host workflow signal EXECUTION change_plan --input '{"plan":"large"}'
//	cruster-host workflow signal EXECUTION cancel --input '{"reason":"too much"}'
//	cruster-host workflow query EXECUTION status
var (
	ChangePlan = cruster.NewSignal[NewPlan]("change_plan")
	Cancel     = cruster.NewSignal[Cancellation]("cancel")
	Status     = cruster.NewQuery[cruster.None, SubscriptionStatus]("status")
)

// Subscription charges a customer for one period after the other, until the customer cancels or the last period has
// ended. There is one per customer.
var Subscription = cruster.NewWorkflow("Subscription", subscription,
	cruster.RawKey(func(r SubscriptionRequest) string { return r.Customer })).
	Accepts(ChangePlan, Cancel).Answers(Status)

func subscription(ctx cruster.Context, req SubscriptionRequest) (SubscriptionStatus, error) {
	status := SubscriptionStatus{Plan: req.Plan}
	Status.Handle(ctx, func(cruster.None) (SubscriptionStatus, error) { return status, nil })

	period, periods := req.span()
	for status.Charged < periods && !status.Canceled {
		if _, err := Charge.Call(ctx, Period{
			Customer: req.Customer, Number: status.Charged + 1, Plan: status.Plan,
		}); err != nil {
			return status, err
		}
		status.Charged++
		if err := wait(ctx, period, &status); err != nil {
			return status, err
		}
	}
	return status, nil
}

func (r SubscriptionRequest) span() (period time.Duration, periods int64) {
	period, periods = 30*24*time.Hour, 12
	if r.PeriodMS > 0 {
		period = time.Duration(r.PeriodMS) * time.Millisecond
	}
	if r.Periods > 0 {
		periods = r.Periods
	}
	return period, periods
}

// wait ends at the end of a period. Signals that come meanwhile count from the next period on; a signal between two
// waits is kept for the second.
func wait(ctx cruster.Context, period time.Duration, status *SubscriptionStatus) error {
	end := cruster.Timer(ctx, period)
	for over := false; !over; {
		var failed error
		err := cruster.Select(ctx,
			cruster.On(end, func(_ cruster.None, err error) { over, failed = true, err }),
			cruster.On(Cancel.Future(ctx), func(c Cancellation, err error) {
				status.Canceled, status.Reason, failed = err == nil, c.Reason, err
			}),
			cruster.On(ChangePlan.Future(ctx), func(n NewPlan, err error) {
				if failed = err; err == nil {
					status.Plan = n.Plan
				}
			}))
		if err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// Period is a period that a customer is charged for.
type Period struct {
	Customer string `json:"customer"`
	Number   int64  `json:"number"`
	Plan     string `json:"plan"`
}

// Charge charges a customer for a period.
var Charge = cruster.NewActivity("charge", charge, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond))

func charge(ctx *cruster.ActivityContext, p Period) (bool, error) {
	_, err := ctx.Tx().Exec(`INSERT INTO cart_charges (customer, period, plan) VALUES ($1, $2, $3)`,
		p.Customer, p.Number, p.Plan)
	return err == nil, err
}
