package devloop

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

const later = "followed/Later/k"

// a bench is a host with the guest, an execution that waits for its gate, and the events that a follower gets.
type bench struct {
	t      *testing.T
	host   *harness.Process
	client *client.Client
	told   chan string
}

// begin has an execution wait for its gate.
func begin(t *testing.T, runs string) *bench {
	t.Helper()
	b := &bench{t: t, host: harness.NewProcess(t, "sqlite:"+t.TempDir()), told: make(chan string, 100)}
	b.host.Start()
	var err error
	b.client, err = client.Dial(b.host.GRPC, client.WithRetryFor(harness.Patience))
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.client.Close() })
	_, err = b.client.Push(t.Context(), client.PushRequest{
		Name: "followed", Binary: harness.Module(t, "tests/guests/followed"),
	})
	require.NoError(t, err)
	start := &crusterv1.StartOptions{
		Workflow:    "followed/Later",
		Idempotency: &crusterv1.StartOptions_RawKey{RawKey: "k"},
		Input:       &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: runs}},
	}
	_, err = b.client.Workflows().StartExecution(t.Context(), &crusterv1.StartExecutionRequest{Start: start})
	require.NoError(t, err)
	b.atTheGate()
	return b
}

// follow begins an execution and follows it.
func follow(t *testing.T, runs string) *bench {
	t.Helper()
	b := begin(t, runs)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		for m, err := range b.client.Follow(ctx, client.FollowRequest{
			Execution: later, Encoding: crusterv1.Encoding_ENCODING_JSON,
		}) {
			b.told <- text(m, err)
		}
		b.told <- "end"
	}()
	return b
}

// text is an event without the parts that differ from one test to the next.
func text(m *crusterv1.FollowExecutionResponse, err error) string {
	switch {
	case err != nil:
		return "error " + err.Error()
	case m.GetEntry() != nil:
		return fmt.Sprintf("entry %d: %s %s", m.GetEntry().GetSeq(), m.GetEntry().GetOpKind(), m.GetEntry().GetName())
	case m.GetLine() != nil:
		return fmt.Sprintf("line of %q: %s", m.GetLine().GetActivity(), m.GetLine().GetMessage())
	default:
		return fmt.Sprintf(
			"run %d %s %s", m.GetExecution().GetContinued(), client.StateOf(m.GetExecution().GetState()),
			m.GetExecution().GetResult().GetJson(),
		)
	}
}

// atTheGate waits until the execution waits for its gate.
func (b *bench) atTheGate() {
	harness.Eventually(b.t, "the execution waits for the gate", func() bool {
		d, err := b.client.Workflows().GetExecution(
			b.t.Context(), &crusterv1.GetExecutionRequest{
				View: crusterv1.ExecutionView_EXECUTION_VIEW_FULL, Execution: later,
			},
		)
		require.NoError(b.t, err)
		return slices.ContainsFunc(
			d.GetDetails().GetPending(), func(p *crusterv1.PendingOp) bool { return p.GetName() == "gate" },
		)
	})
}

func (b *bench) open() {
	_, err := b.client.Deferreds().ResolveDeferred(b.t.Context(), &crusterv1.ResolveDeferredRequest{
		Execution: later, Name: "gate", Value: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `"open"`}},
	})
	require.NoError(b.t, err)
}

func (b *bench) require(want ...string) {
	b.t.Helper()
	for _, w := range want {
		select {
		case got := <-b.told:
			require.Equal(b.t, w, got)
		case <-time.After(harness.Patience):
			require.FailNow(b.t, "nothing is told", "instead of %s", w)
		}
	}
}

func TestFollowTellsEntriesAndLines(t *testing.T) {
	t.Parallel()
	b := follow(t, "1")
	b.require("run 0 running ", "entry 1: activity say") // earlier lines are not told
	b.open()
	b.require(
		"entry 2: deferred gate", `line of "": through the gate`, `line of "say": saying second`,
		"entry 3: activity say", `run 0 completed "second"`, "end",
	)
}

// A follower sees no entry twice, and misses none, although its host is killed.
func TestFollowOverAKilledHost(t *testing.T) {
	t.Parallel()
	b := follow(t, "1")
	b.require("run 0 running ", "entry 1: activity say")
	b.host.Kill()
	b.host.Start()
	b.require("run 0 running ") // it is there again
	b.open()
	b.require(
		"entry 2: deferred gate", `line of "": through the gate`, `line of "say": saying second`,
		"entry 3: activity say", `run 0 completed "second"`, "end",
	)
}

func TestFollowARunThatContinues(t *testing.T) {
	t.Parallel()
	b := follow(t, "2")
	b.require("run 0 running ", "entry 1: activity say")
	b.open()
	// The last events of the first run before it continues may be told or not.
	for got := ""; got != "run 1 running "; {
		select {
		case got = <-b.told:
		case <-time.After(harness.Patience):
			require.FailNow(t, "the run that continues is not told")
		}
	}
	harness.Eventually(t, "the first entry of the second run", func() bool {
		return <-b.told == "entry 1: activity say"
	})
	b.atTheGate()
	b.open()
	b.require(
		"entry 2: deferred gate", `line of "": through the gate`, `line of "say": saying second`,
		"entry 3: activity say", `run 1 completed "second"`, "end",
	)
}

func TestFollowOneThatIsOver(t *testing.T) {
	t.Parallel()
	b := follow(t, "1")
	b.require("run 0 running ", "entry 1: activity say")
	b.open()
	for got := ""; got != "end"; got = <-b.told {
	}
	var all []string
	for m, err := range b.client.Follow(t.Context(), client.FollowRequest{
		Execution: later, After: 2, Encoding: crusterv1.Encoding_ENCODING_JSON,
	}) {
		all = append(all, text(m, err))
	}
	require.Equal(t, []string{"entry 3: activity say", `run 0 completed "second"`}, all)
	for m, err := range b.client.Follow(t.Context(), client.FollowRequest{Execution: "followed/Later/none"}) {
		require.Nil(t, m)
		require.ErrorContains(t, err, "followed/Later/none")
	}
}

// A follower that finds its host again goes on with its run, although another has the name.
func TestFollowStaysWithItsRun(t *testing.T) {
	t.Parallel()
	b := begin(t, "1")
	var all []string
	for m, err := range b.client.Follow(t.Context(), client.FollowRequest{
		Execution: later, Encoding: crusterv1.Encoding_ENCODING_JSON,
	}) {
		all = append(all, text(m, err))
		if len(all) > 1 {
			continue
		}
		b.host.Kill()
		b.host.Start()
		b.open()
		_, err := b.client.Workflows().WaitExecution(t.Context(), &crusterv1.WaitExecutionRequest{Execution: later})
		require.NoError(t, err)
		_, err = b.client.Workflows().RestartExecution(
			t.Context(), &crusterv1.RestartExecutionRequest{Execution: later},
		)
		require.NoError(t, err)
		b.atTheGate()
	}
	require.Equal(
		t,
		[]string{
			"run 0 running ", "entry 1: activity say", "entry 2: deferred gate", "entry 3: activity say",
			`run 0 completed "second"`,
		},
		all,
	)
}
