package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dispatch(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say what to do: run or report")
	}
	switch args[0] {
	case "run":
		plan, err := parsePlan(args[1:])
		if err != nil {
			return err
		}
		return plan.run(ctx)
	case "report":
		flags := flag.NewFlagSet("report", flag.ExitOnError)
		page := flags.String(
			"page", "docs/BENCHMARKS.md", "page to write; its plots go to the folder benchmarks beside it",
		)
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return writeReport(*page, flags.Args())
	default:
		return fmt.Errorf("there is no command %q: run or report", args[0])
	}
}

// parsePlan reads the flags of run.
func parsePlan(args []string) (*plan, error) {
	p := &plan{progress: os.Stderr, table: os.Stdout}
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	flags.StringVar(&p.binary, "host", "bin/cruster-host", "the host to measure")
	flags.StringVar(
		&p.guests, "guests", "bin/bench", "folder of load.wasm, load-rust.wasm, transfer.wasm and transfer-rust.wasm",
	)
	flags.StringVar(&p.adapters, "adapters", "bin/peers", "folder of the adapters of peers")
	flags.StringVar(&p.dir, "dir", os.TempDir(), "where stores are made, on the disk to measure")
	flags.StringVar(
		&p.postgres, "postgres", "",
		"connection string of a superuser on a server to use; scripts/postgres.sh starts one if it is empty",
	)
	flags.StringVar(&p.out, "out", "", "file to add lines of JSON to")
	flags.Float64Var(&p.sizes.seconds, "seconds", 5, "how long W1, W2, W4, W5, W8, W11 and W12 run, each")
	sleepers := flags.Int(
		"sleepers", fullSizes(0).dense, "how many sleepers W10 has, and parents W13; 100000 take some minutes",
	)
	flags.IntVar(&p.repeat, "repeat", 1, "how often all of it is done")
	workloads := flags.String("workloads", strings.Join(workloadNames(), ","), "what to measure")
	languages := flags.String("languages", "go,rust", "languages of guests")
	stores := flags.String("stores", "sqlite,postgres", "stores of Cruster")
	peers := flags.String("peers", "", "peers to measure beside Cruster: "+strings.Join(peerNames(), ","))
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	p.sizes = fullSizes(p.sizes.seconds)
	p.sizes.dense = *sleepers
	p.languages, p.stores, p.peers = list(*languages), list(*stores), list(*peers)
	for _, name := range list(*workloads) {
		w, ok := workloadOf(name)
		if !ok {
			return nil, fmt.Errorf("there is no workload %q: %s", name, strings.Join(workloadNames(), ", "))
		}
		p.workloads = append(p.workloads, w)
	}
	return p, nil
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
