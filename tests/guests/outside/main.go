// Command outside is a module whose activity tries things that a sandbox does not have.
package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var tries = map[string]func(ctx context.Context) error{
	"http by address": func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1/", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return res.Body.Close()
	},
	"dial": func(ctx context.Context) error {
		_, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:1")
		return err
	},
	"read a file":            func(context.Context) error { _, err := os.ReadFile("/etc/hosts"); return err },
	"write a file":           func(context.Context) error { return os.WriteFile("notes.txt", []byte("x"), 0o600) },
	"make a temporary file":  func(context.Context) error { _, err := os.CreateTemp("", "x"); return err },
	"run a program":          func(ctx context.Context) error { return exec.CommandContext(ctx, "true").Run() },
	"time zone":              func(context.Context) error { _, err := time.LoadLocation("Europe/Berlin"); return err },
	"an error of a business": func(context.Context) error { return errors.New("the shop is closed") },
	"an error of a service": func(context.Context) error {
		return errors.New("status 502: [Errno 111] Connection refused")
	},
}

var try = cruster.NewActivity("try", func(ctx *cruster.ActivityContext, what string) (string, error) {
	do, ok := tries[what]
	if !ok {
		return "", errors.New("unknown")
	}
	return "it worked", do(ctx)
})

var _ = cruster.NewWorkflow("Try", func(ctx cruster.Context, what string) (string, error) {
	return try.Call(ctx, what)
})

// In a workflow.
var _ = cruster.NewWorkflow("TryHere", func(_ cruster.Context, what string) (string, error) {
	return "it worked", tries[what](context.Background())
})

func main() {}
