package guide

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Receive signals.

type Payment struct {
	Cents int64 `json:"cents"`
}

var Paid = cruster.NewSignal[Payment]("paid")

var Collect = cruster.NewWorkflow("Collect", collect).Accepts(Paid)

// collect waits for two payments, and tells another execution of the first.
func collect(ctx cruster.Context, executionID string) (int64, error) {
	payment, err := Paid.Receive(ctx)
	if err != nil {
		return 0, err
	}
	cents := payment.Cents
	payment, err = cruster.WithTimeout(ctx, 24*time.Hour, Paid.Future(ctx))
	if err != nil && !errors.Is(err, cruster.ErrTimeout) {
		return cents, err
	}
	cents += payment.Cents
	if executionID == "" {
		return cents, nil
	}
	err = Paid.Send(ctx, executionID, Payment{Cents: 300})
	return cents, err
}

var PayTwice = cruster.NewWorkflow("PayTwice", payTwice).Accepts(Paid)

// payTwice is paid by the execution that it has paid.
func payTwice(ctx cruster.Context, _ cruster.None) (int64, error) {
	collector := Collect.Client().WithKeyRaw("collector")
	id, err := collector.Start(ctx, cruster.ExecutionID(ctx))
	if err != nil {
		return 0, err
	}
	for range 2 {
		if err := Paid.Send(ctx, id, Payment{Cents: 200}); err != nil {
			return 0, err
		}
	}
	payment, err := Paid.Receive(ctx)
	return payment.Cents, err
}

// Answer queries.

var Progress = cruster.NewQuery[cruster.None, int]("progress")

var Import = cruster.NewWorkflow("Import", importAll).Answers(Progress)

func importAll(ctx cruster.Context, files []string) (int, error) {
	done := 0
	Progress.Handle(ctx, func(cruster.None) (int, error) { return done, nil })
	for range files {
		if err := cruster.Sleep(ctx, time.Minute); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}
