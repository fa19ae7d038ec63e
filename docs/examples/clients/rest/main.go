// Command rest has the parts that the program of the page leaves out: updates, published values, keys that are used
// again, and entities without a state. tests/clients runs it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/cruster/cruster/abi"
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
	for _, part := range []func(context.Context, *client.Client) error{updates, restarts, published, entities} {
		if err := part(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func updates(ctx context.Context, c *client.Client) error {
	run, err := client.Workflow[bool, []int64](c, "conformance/Updated").WithKeyRaw("sums").Start(ctx, false)
	if err != nil {
		return err
	}
	add := client.Update[int64, int64]("add")
	sum, err := add.Call(ctx, c, run.Execution(), 3)
	if err != nil {
		return err
	}
	fmt.Println(sum)
	for range 2 {
		sum, err := add.WithRequestID("four").Call(ctx, c, run.Execution(), 4)
		if err != nil {
			return err
		}
		fmt.Println(sum)
	}
	for _, n := range []int64{-1, 2000} {
		_, err := add.Call(ctx, c, run.Execution(), n)
		var refused *abi.Error
		if errors.As(err, &refused) {
			fmt.Println(refused.Code, refused.Type)
		}
	}
	bye, err := client.Update[any, string]("finish").Call(ctx, c, run.Execution(), nil)
	if err != nil {
		return err
	}
	fmt.Println(bye)
	all, err := run.Wait(ctx)
	if err != nil {
		return err
	}
	list(all)
	return nil
}

func restarts(ctx context.Context, c *client.Client) error {
	sums := client.Workflow[bool, []int64](c, "conformance/Updated").WithKeyRaw("sums")
	_, err := sums.IfFinished(client.RefuseFinished).Start(ctx, false)
	fmt.Println(abi.CodeOf(err))

	// Starts with the same request id start one new run.
	restart := sums.IfFinished(client.RestartFinished).WithRequestID("second")
	var existed []bool
	for range 2 {
		run, err := restart.Start(ctx, false)
		if err != nil {
			return err
		}
		existed = append(existed, run.Existed())
	}
	list(existed)
	return nil
}

func published(ctx context.Context, c *client.Client) error {
	run, err := client.Workflow[string, any](c, "conformance/Publishes").WithKey("ada").Start(ctx, "ada")
	if err != nil {
		return err
	}
	if err := run.Resolve(ctx, "gate", "open"); err != nil {
		return err
	}
	if _, err := run.Wait(ctx); err != nil {
		return err
	}
	stage, there, err := client.Published[string]("stage").Of(ctx, c, run.Execution())
	if err != nil {
		return err
	}
	if there {
		fmt.Println(stage)
	}
	return nil
}

func entities(ctx context.Context, c *client.Client) error {
	note := client.Operation[bool, int64](c, "conformance/Ledger", "note").On("a").WithRequestID("one")
	for range 2 {
		noted, err := note.Call(ctx, false)
		if err != nil {
			return err
		}
		fmt.Println(noted)
	}
	read, err := client.Operation[struct{}, int64](c, "conformance/Ledger", "read").On("a").Call(ctx, struct{}{})
	if err != nil {
		return err
	}
	fmt.Println(read)
	return nil
}

// list prints values with commas between them.
func list[T any](values []T) { fmt.Println(strings.ReplaceAll(fmt.Sprint(values), " ", ", ")) }
