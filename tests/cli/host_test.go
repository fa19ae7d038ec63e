package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cruster/cruster/internal/harness"
)

// patience is how long anything may take before a script fails.
const patience = harness.Patience

// A hostProcess is a host that a script started.
type hostProcess struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed once cmd has been waited for
	log    string        // file of its standard error
}

// running holds the host that each script started last.
var running sync.Map // *testscript.TestScript → *hostProcess

func hostOf(ts *testscript.TestScript) *hostProcess {
	h, ok := running.Load(ts)
	if !ok {
		ts.Fatalf("the script has started no host")
	}
	return h.(*hostProcess)
}

// cmdHost starts a host on free ports and waits until it says where it is: host [NAME=VALUE…] [FLAGS…]. It is a dev
// host, unless the flags name a store. The variables are set for the host alone; CRUSTER_ADDR and HTTP_ADDR are set for
// the script.
func cmdHost(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("host does not take !")
	}
	var env []string
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		env, args = append(env, args[0]), args[1:]
	}
	verb := []string{"dev", "--data-dir", ts.MkAbs("data")}
	if slices.Contains(args, "--store") {
		verb = []string{"serve"}
	}
	args = append(
		append(verb, "-o", "jsonl", "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--log-level", "info"),
		args...,
	)
	h := &hostProcess{
		cmd:    exec.Command(filepath.Join(built, "bin", "cruster-host"), args...),
		exited: make(chan struct{}),
		log:    ts.MkAbs("host.log"),
	}
	h.cmd.Env = append(append(os.Environ(), "CRUSTER_CACHE_DIR="+ts.Getenv("CRUSTER_CACHE_DIR")), env...)
	log, err := os.OpenFile(h.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	h.cmd.Stderr = log
	stdout, err := h.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(h.cmd.Start())
	ts.Check(log.Close())
	first := make(chan string, 1)
	go func() {
		defer close(h.exited)
		line, _ := bufio.NewReader(stdout).ReadString('\n') // empty if the host ends first
		first <- line
		_, _ = io.Copy(io.Discard, stdout)
		_ = h.cmd.Wait() // its state is looked at later
	}()
	running.Store(ts, h)
	ts.Defer(func() {
		_ = h.cmd.Process.Kill() // it may have ended long ago
		<-h.exited
	})

	var screen struct{ GRPC, HTTP string }
	select {
	case line := <-first:
		if err := json.Unmarshal([]byte(line), &screen); err != nil {
			ts.Fatalf("the host did not start: %q\n%s", line, ts.ReadFile(h.log))
		}
	case <-time.After(patience):
		ts.Fatalf("the host did not start in time\n%s", ts.ReadFile(h.log))
	}
	ts.Setenv("CRUSTER_ADDR", screen.GRPC)
	ts.Setenv("HTTP_ADDR", screen.HTTP)
}

// cmdKillHost ends the host the hard way.
func cmdKillHost(ts *testscript.TestScript, _ bool, _ []string) {
	h := hostOf(ts)
	ts.Check(h.cmd.Process.Kill())
	h.await(ts)
}

// cmdStopHost asks the host to stop, and wants exit code 0.
func cmdStopHost(ts *testscript.TestScript, _ bool, _ []string) {
	h := hostOf(ts)
	ts.Check(h.cmd.Process.Signal(syscall.SIGTERM))
	h.await(ts)
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		ts.Fatalf("the host exited with code %d\n%s", code, ts.ReadFile(h.log))
	}
}

func (h *hostProcess) await(ts *testscript.TestScript) {
	select {
	case <-h.exited:
	case <-time.After(patience):
		ts.Fatalf("the host did not end in time\n%s", ts.ReadFile(h.log))
	}
}

// cmdProbe asks for a path over HTTP and prints the answer: probe CODE PATH.
func cmdProbe(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: probe CODE PATH")
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + ts.Getenv("HTTP_ADDR") + args[1])
	ts.Check(err)
	defer resp.Body.Close()
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("%s answered %s", args[1], resp.Status)
	}
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}

// cmdTruncate copies the first bytes of a file: truncate FROM TO BYTES.
func cmdTruncate(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: truncate FROM TO BYTES")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data[:min(n, len(data))], 0o600))
}
