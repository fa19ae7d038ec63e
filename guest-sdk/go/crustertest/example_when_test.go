package crustertest_test

import (
	"fmt"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var examplePaid = cruster.NewSignal[int]("paid")

var exampleInvoice = cruster.NewWorkflow("exampleInvoice", func(ctx cruster.Context, _ cruster.None) (string, error) {
	if err := cruster.Sleep(ctx, 24*time.Hour); err != nil {
		return "", err
	}
	cents, err := examplePaid.Receive(ctx)
	return fmt.Sprintf("%d cents on %s", cents, time.Now().UTC().Format(time.DateOnly)), err
}).Accepts(examplePaid)

// The signal comes when the workflow waits for it, however long it takes to get there.
func ExampleWhen() {
	res, err := crustertest.Execute(exampleInvoice, cruster.None{},
		crustertest.When(crustertest.Reached("receive paid"), crustertest.SignalAfter(time.Hour, examplePaid, 300)))
	fmt.Println(res, err)
	// Output: 300 cents on 2030-01-02 <nil>
}
