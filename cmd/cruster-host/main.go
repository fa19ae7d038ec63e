package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cruster/cruster/cmd/cruster-host/internal/cli"
)

// release is set by the linker for released binaries.
var release = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once the first signal has arrived the second one has its usual effect: it ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, cli.Process{
		Args:      os.Args[1:],
		LookupEnv: os.LookupEnv,
		Release:   release,
		Stderr:    os.Stderr,
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
	}))
}
