//go:build crashpoints

package cli

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/undertest"
)

// underTest reads the test settings of a host. CRUSTER_EVICT_ALWAYS=1 drops every instance after
// each turn. CRUSTER_MAX_ENTRIES=N bounds journals. CRUSTER_FAULT=POINT@N has the process kill
// itself at that passing.
//
// Only a binary that was built with the tag crashpoints has this code: see nocrashpoints.go.
func underTest(cfg *serve.Config, lookup func(name string) (string, bool)) error {
	options := undertest.Of(&cfg.UnderTest)
	evict, _ := lookup("CRUSTER_EVICT_ALWAYS")
	options.EvictAlways = evict == "1"
	if entries, ok := lookup("CRUSTER_MAX_ENTRIES"); ok {
		n, err := strconv.ParseUint(entries, 10, 32)
		if err != nil {
			return usage.Errorf("CRUSTER_MAX_ENTRIES: %v", err)
		}
		options.MaxEntries = n
	}
	fault, _ := lookup("CRUSTER_FAULT")
	if fault == "" {
		return nil
	}
	at, err := faultpoint.ParsePassing(fault)
	if err != nil {
		return usage.Errorf("CRUSTER_FAULT: %v", err)
	}
	options.FaultPoint = killAt(at)
	return nil
}

// killAt makes a hook that kills the process the hard way, as a power cut would. It says where on standard error first,
// so that the test knows which passing it was.
func killAt(at faultpoint.Passing) func(point string) {
	var passed atomic.Int64
	return func(point string) {
		if point != at.Point || passed.Add(1) != int64(at.N) {
			return
		}
		fmt.Fprintf(os.Stderr, "killed at %s\n", at)
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {} // SIGKILL cannot be caught, but it may take a moment to arrive
	}
}
