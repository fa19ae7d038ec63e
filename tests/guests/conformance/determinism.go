package main

import (
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Chance draws from all random sources of an ordinary program, before and after a step, which takes the draws so far: a
// replay that draws other values does not fit its journal.
var Chance = cruster.NewWorkflow("Chance", func(ctx cruster.Context, steps int) ([]string, error) {
	out := draw(ctx, nil)
	for range steps {
		if _, err := note.Call(ctx, strings.Join(out, " ")); err != nil {
			return nil, err
		}
		out = draw(ctx, out)
	}
	return out, nil
})

func draw(ctx cruster.Context, out []string) []string {
	m := map[int]bool{}
	for i := range 40 {
		m[i] = true
	}
	order := ""
	for k := range m {
		order += fmt.Sprint(k, " ")
	}
	a, b := make(chan int, 1), make(chan int, 1)
	picked := ""
	for range 8 {
		a <- 1
		b <- 2
		select {
		case n := <-a:
			picked += fmt.Sprint(n)
			<-b
		case n := <-b:
			picked += fmt.Sprint(n)
			<-a
		}
	}
	var secret [8]byte
	_, _ = crand.Read(secret[:])
	return append(
		out, cruster.UUID(ctx), fmt.Sprint(cruster.Rand(ctx).Uint64()), fmt.Sprint(rand.Uint64()),
		hex.EncodeToString(secret[:]), order, picked,
	)
}

// Clock compares the clock of the Go library with the clock of the journal, and shows that neither moves while the
// workflow computes.
var Clock = cruster.NewWorkflow("Clock", func(ctx cruster.Context, _ cruster.None) (map[string]bool, error) {
	start := cruster.Now(ctx)
	n := 0
	for i := range 1_000_000 {
		n += i
	}
	out := map[string]bool{
		"is the journal's": time.Now().Equal(start),
		"stands still":     cruster.Now(ctx).Equal(start) && n > 0,
	}
	err := cruster.Sleep(ctx, 5*time.Millisecond)
	out["goes on"] = cruster.Now(ctx).After(start)
	out["is still the journal's"] = time.Now().Equal(cruster.Now(ctx))
	return out, err
})

// Identity returns its execution and namespace, and its view of the machine.
var Identity = cruster.NewWorkflow("Identity", func(ctx cruster.Context, _ cruster.None) (map[string]string, error) {
	_, fileErr := os.ReadFile("/etc/passwd")
	inside, err := identity.Call(ctx, cruster.None{})
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"execution":       cruster.ExecutionID(ctx),
		"namespace":       cruster.Namespace(ctx),
		"in the activity": inside,
		"environment":     fmt.Sprint(os.Environ()),
		"arguments":       fmt.Sprint(len(os.Args)),
		"files":           fmt.Sprint(fileErr != nil),
	}, nil
})

var identity = cruster.NewActivity("identity", func(ctx *cruster.ActivityContext, _ cruster.None) (string, error) {
	return fmt.Sprint(ctx.Namespace(), " ", ctx.ExecutionID(), " ", ctx.Attempt()), nil
})

// Patches asks about changes of the code: twice about one, and once about another.
var Patches = cruster.NewWorkflow("Patches", func(ctx cruster.Context, _ cruster.None) ([]bool, error) {
	first := cruster.Patched(ctx, "one")
	if _, err := note.Call(ctx, "between"); err != nil {
		return nil, err
	}
	return []bool{first, cruster.Patched(ctx, "one"), cruster.Patched(ctx, "other")}, nil
})

// Log writes to the log from several places; each line must appear once.
var Log = cruster.NewWorkflow("Log", func(ctx cruster.Context, _ cruster.None) (int, error) {
	cruster.Logger(ctx).Info("before the first step", "n", 1)
	fmt.Println("printed before the first step")
	n, err := logs.Call(ctx, 1)
	if err != nil {
		return 0, err
	}
	cruster.Logger(ctx).Warn("between two steps")
	if err := cruster.Sleep(ctx, time.Millisecond); err != nil {
		return 0, err
	}
	cruster.Logger(ctx).With("k", "v").WithGroup("g").Error("after the last step", "x", "y z")
	return n, nil
})

var logs = cruster.NewActivity("logs", func(ctx *cruster.ActivityContext, n int) (int, error) {
	ctx.Logger().Info("in the activity")
	fmt.Fprintln(os.Stderr, "printed in the activity")
	return n, nil
})
