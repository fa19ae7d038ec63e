// Command secure makes a connection that is encrypted, with a token, as docs/clients-go.md shows it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
)

func main() {
	if err := all(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func all(ctx context.Context) error {
	certificate, err := credentials.NewClientTLSFromFile(os.Getenv("CRUSTER_CERTIFICATE"), "")
	if err != nil {
		return err
	}
	c, err := client.Dial(os.Getenv("CRUSTER_ADDR"),
		client.WithTransportCredentials(certificate),
		client.WithToken(os.Getenv("CRUSTER_TOKEN")),
		client.WithNamespace("shop"),
		client.WithRetryFor(time.Second),
	)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err = client.Attach[any](c, "orders/ProcessOrder/42").Poll(ctx)
	var refused *abi.Error
	if errors.As(err, &refused) {
		fmt.Printf("%s: %s (%s)\n", refused.Code, refused.Message, refused.Hint)
	}

	// An answer that does not come in time ends the waiting, and nothing else.
	hurried, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = client.Attach[any](c, "orders/ProcessOrder/slow").Wait(hurried)
	fmt.Println(abi.CodeOf(err))
	return nil
}
