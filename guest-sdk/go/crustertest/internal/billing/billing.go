// Package billing is a module of tests.
package billing

import (
	"fmt"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Charge is an activity; shop has another of that name.
var Charge = cruster.NewActivity("charge", func(_ *cruster.ActivityContext, _ int) (string, error) {
	return "billing", nil
})

// Process has the name of a workflow of shop. The workflow that it calls is its own.
var Process = cruster.NewWorkflow("Process", func(ctx cruster.Context, cents int) (string, error) {
	who, err := Charge.Call(ctx, cents)
	if err != nil {
		return "", err
	}
	note, err := Note.Client().Execute(ctx, who)
	return note + " in " + cruster.ExecutionID(ctx), err
})

// Note is called by Process.
var Note = cruster.NewWorkflow("Note", func(_ cruster.Context, who string) (string, error) {
	return "noted by " + who, nil
})

// Ledger adds up.
var Ledger = cruster.NewStatefulEntity[int]("Ledger")

// Add adds to a ledger.
var Add = cruster.NewOperation(Ledger, "add", func(_ *cruster.EntityContext, total *int, cents int) (string, error) {
	*total += cents
	return fmt.Sprint(*total), nil
})

var _ = cruster.Migrations(cruster.Migration{
	Version: 1, Name: "invoices", SQL: "CREATE TABLE billing_invoices (id TEXT)",
})
