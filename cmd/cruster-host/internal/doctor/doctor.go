package doctor

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
)

// askTimeout bounds each question to a program, a host or a database.
const askTimeout = 10 * time.Second

// defaultAddr is where a host listens that is not told otherwise.
const defaultAddr = "127.0.0.1:7600"

// Kinds of a [Finding].
const (
	// OK is as it should be.
	OK = "ok"
	// Note is something that is not there and need not be.
	Note = "note"
	// Problem keeps modules from being built, or hosts from running.
	Problem = "problem"
)

// A Finding is the doctor's result for one thing.
type Finding struct {
	What   string `json:"what"`
	Status string `json:"status"`
	Text   string `json:"text"`
	// Fix is a command that fixes it; empty if nothing needs to be fixed.
	Fix string `json:"fix,omitempty"`
}

// Config selects the things to examine.
type Config struct {
	// Addr is where commands look for a host.
	Addr string
	// GRPCAddr and HTTPAddr are where a host would listen.
	GRPCAddr, HTTPAddr string
	// Store is a host's store.
	Store serve.StoreSpec
	// Version is this binary's.
	Version string
}

// Examine looks at the machine.
func Examine(ctx context.Context, cfg Config) []Finding {
	ctx, cancel := context.WithTimeout(ctx, 3*askTimeout)
	defer cancel()
	all := []Finding{{
		What:   "cruster-host",
		Status: OK,
		Text:   fmt.Sprintf("%s, ABI %d, %s/%s", cfg.Version, abi.Version, runtime.GOOS, runtime.GOARCH),
	}}
	all = append(all, languages(examineGo(ctx), examineRust(ctx))...)
	host := examineHost(ctx, cfg.Addr, startCommand(cfg))
	return append(all, host,
		examinePort("gRPC port", "--grpc-addr", cfg.GRPCAddr, host.Status == OK),
		examinePort("HTTP port", "--http-addr", cfg.HTTPAddr, host.Status == OK),
		examineStore(ctx, cfg.Store, host.Status == OK))
}

// startCommand starts a host where commands look for it. It does not listen on addresses of other
// machines.
func startCommand(cfg Config) string {
	start := cfg.Store.StartCommand()
	host, _, err := net.SplitHostPort(cfg.Addr)
	ip := net.ParseIP(host)
	if local := host == "localhost" || ip != nil && ip.IsLoopback(); err != nil || !local || cfg.Addr == defaultAddr {
		return start
	}
	return start + " --grpc-addr " + cfg.Addr
}

// languages makes notes of the missing tools of one language if the other is there: one is enough.
func languages(golang Finding, rust []Finding) []Finding {
	rustWorks := true
	for _, f := range rust {
		rustWorks = rustWorks && f.Status == OK
	}
	all := append([]Finding{golang}, rust...)
	if golang.Status != OK && !rustWorks {
		return all
	}
	for i := range all {
		if all[i].Status == Problem {
			all[i].Status = Note
		}
	}
	return all
}

// ask runs a program and returns its output; missing tells that there is none.
func ask(ctx context.Context, name string, args ...string) (text string, missing bool, err error) {
	if _, err := exec.LookPath(name); err != nil {
		return "", true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), false, err
}
