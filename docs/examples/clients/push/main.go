// Command push deploys the example orders, and follows an execution of it, as docs/clients-go.md shows it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	client "github.com/cruster/cruster/clients/go"
)

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
	if err := push(ctx, c, os.Getenv("CRUSTER_MODULE")); err != nil {
		return err
	}
	// A map does where there is no type.
	order := map[string]any{
		"order_id": "42", "email": "ada@example.com", "cooling_off_ms": 100,
		"items": []any{map[string]any{"sku": "tea", "quantity": 2, "price_cents": 450}},
	}
	run, err := client.Workflow[any, any](c, "orders/ProcessOrder").Start(ctx, order)
	if err != nil {
		return err
	}
	return follow(ctx, c, run.Execution())
}

func push(ctx context.Context, c *client.Client, file string) error {
	module, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	pushed, err := c.Push(ctx, client.PushRequest{Name: "orders", Binary: module, MoveOpen: true})
	if err != nil {
		return err
	}
	fmt.Printf("deployed %s, %d moved\n", pushed.GetDeployment().GetName(), pushed.GetMoved())
	return nil
}

func follow(ctx context.Context, c *client.Client, execution string) error {
	for event, err := range c.Follow(ctx, client.FollowRequest{Execution: execution}) {
		if err != nil {
			return err
		}
		switch {
		case event.GetEntry() != nil: // of its journal
			log.Print(event.GetEntry().GetSeq(), " ", event.GetEntry().GetKind())
		case event.GetLine() != nil: // logged by the workflow or an activity
			log.Print(event.GetLine().GetMessage())
		case client.StateOf(event.GetExecution().GetState()).Final():
			fmt.Println(execution, "is", client.StateOf(event.GetExecution().GetState()))
		}
	}
	return nil
}
