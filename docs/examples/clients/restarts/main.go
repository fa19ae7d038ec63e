// Command restarts shows that a client does not notice a host that is killed and started again. tests/clients does
// that to the host whenever this program says so.
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	client "github.com/cruster/cruster/clients/go"
)

type Item struct {
	SKU        string `json:"sku"`
	Quantity   int64  `json:"quantity"`
	PriceCents int64  `json:"price_cents"`
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
	approvals := client.Workflow[ApprovalRequest, ApprovalResult](c, "approval/RequestApproval")
	first, err := approvals.Start(ctx, ApprovalRequest{Document: "plan"})
	if err != nil {
		return err
	}
	add := client.Operation[Item, int64](c, "cart/Cart", "add").On("bob").WithRequestID("tea-1")
	tea := Item{SKU: "tea", Quantity: 1, PriceCents: 450}
	total, err := add.Call(ctx, tea)
	if err != nil {
		return err
	}
	fmt.Printf("existed: %v, total: %d\n", first.Existed(), total)

	// No host is there: calls are repeated until one is, and find the effects of the first ones.
	say("kill")
	say("start")
	again, err := approvals.Start(ctx, ApprovalRequest{Document: "plan"})
	if err != nil {
		return err
	}
	fmt.Printf("existed: %v, same: %v\n", again.Existed(), again.Execution() == first.Execution())
	total, err = add.Call(ctx, tea)
	if err != nil {
		return err
	}
	fmt.Println("total:", total)
	return waitThroughARestart(ctx, again)
}

// waitThroughARestart has the host killed while a call may wait. The call goes on with the next host.
func waitThroughARestart(ctx context.Context, run client.Run[ApprovalResult]) error {
	type outcome struct {
		result ApprovalResult
		err    error
	}
	waiting := make(chan outcome, 1)
	go func() {
		result, err := run.Wait(ctx)
		waiting <- outcome{result, err}
	}()
	if _, err := run.Poll(ctx); err != nil {
		return err
	}
	say("kill")
	say("start and wait")
	if err := run.Resolve(ctx, "approved", Decision{Approved: true, By: "ada"}); err != nil {
		return err
	}
	o := <-waiting
	if o.err != nil {
		return o.err
	}
	fmt.Println(o.result.Status)
	return nil
}

var answers = bufio.NewScanner(os.Stdin)

// say prints a demand, and waits until it was taken up.
func say(wanted string) {
	fmt.Println(">", wanted)
	answers.Scan()
}
