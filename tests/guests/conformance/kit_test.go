package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
	"github.com/cruster/cruster/tests/conformance/table"
)

// outsideURL stands for the HTTP server of the table.
const outsideURL = "http://outside.test"

// TestKit runs the table of tests/conformance on the test kit of the Go SDK: the kit behaves as a host does.
// table/kits.json lists the cases that a kit cannot run.
func TestKit(t *testing.T) {
	t.Parallel()
	for _, c := range table.ForKit("go") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			(&kitCase{Case: c}).run(t)
		})
	}
}

// kitCase is a case of the table, run on the test kit.
type kitCase struct {
	table.Case
	history crustertest.History
	// unanswered counts the updates that wait for an answer.
	unanswered int
}

func (c *kitCase) run(t *testing.T) {
	places := table.Places{Outside: outsideURL, Execution: "conformance/" + c.Workflow + "/" + c.Key()}
	_, err := crustertest.ExecuteNamed(c.Workflow, c.Input.Any(places), c.options(t, places)...)
	if c.Refused != "" {
		require.Equal(t, string(c.Refused), cruster.ErrorCode(err), "%v", err)
		require.Empty(t, c.history.Events)
		return
	}
	c.checkEnd(t, places)
	require.Zero(t, c.unanswered)
	for i := range c.Steps {
		c.checkStep(t, &c.Steps[i], c.times()[i])
	}
	if c.Journal != nil {
		require.Equal(t, c.Journal, deliveries(&c.history))
	}
	if parts := c.LastMessage("go"); len(parts) > 0 {
		last := c.history.Events[len(c.history.Events)-1]
		for _, part := range parts {
			require.Contains(t, last.Err.Message, part)
		}
	}
	for _, s := range c.Then {
		if s.Published != nil {
			requirePublished(t, s.Published, &c.history.Published)
		}
	}
	if c.State != "paused" {
		crustertest.Replay(t, &c.history)
	}
}

// options are the surroundings of a case: the resources of a host, and the steps of its client.
func (c *kitCase) options(t *testing.T, places table.Places) []crustertest.Option {
	opts := []crustertest.Option{
		crustertest.Deployment("conformance"),
		crustertest.Namespace("default"),
		crustertest.ExecutionID(places.Execution),
		crustertest.Record(&c.history),
		crustertest.SQLite(sqltest.Open(t)),
		crustertest.HandleHTTP(serveOutside),
		crustertest.Config("greeting", "hello"),
		crustertest.Config("empty", ""),
		crustertest.Config("outside", outsideURL),
		// It would block the process of the test.
		crustertest.Stub(block, func(ctx *cruster.ActivityContext, _ bool) (int, error) { return ctx.Attempt(), nil }),
		crustertest.TakesFunc(block, func(ctx *cruster.ActivityContext, once bool) time.Duration {
			if !once || ctx.Attempt() == 1 {
				return time.Hour
			}
			return 0
		}),
		crustertest.TakesFunc(pass, func(_ *cruster.ActivityContext, gate string) time.Duration {
			return c.opens(gate)
		}),
	}
	for i, s := range c.Steps {
		at := c.times()[i]
		switch {
		case s.Resolve+s.Reject != "" && s.Refused != "" && s.Refused != abi.CodeDeferredSettled:
			// It would end the execution: the test would have a mistake.
		case s.Resolve != "":
			opts = append(opts, crustertest.ResolveAfter(at, cruster.NewDeferred[any](s.Resolve), s.Value.Any(places)))
		case s.Reject != "":
			opts = append(opts, crustertest.RejectAfter(at, cruster.NewDeferred[any](s.Reject), s.Error.ABI("")))
		case s.Signal != "" && s.Refused == "":
			opts = append(opts, crustertest.SignalAfter(at, cruster.NewSignal[any](s.Signal), s.Value.Any(places)))
		case s.Query != "":
			opts = append(opts, c.ask(t, at, &s, places))
		case s.Update != "":
			opts = append(opts, c.update(t, at, &s, places))
		case s.Published != nil:
			opts = append(
				opts,
				crustertest.PublishedAfter(at, func(p *crustertest.Published) { requirePublished(t, s.Published, p) }),
			)
		case s.Interrupt != "":
			opts = append(opts, crustertest.InterruptAfter(at, s.Interrupt))
		}
	}
	return opts
}

// ask asks the workflow a question, and checks the answer.
func (c *kitCase) ask(t *testing.T, at time.Duration, s *table.Step, places table.Places) crustertest.Option {
	return crustertest.QueryAfter(
		at,
		cruster.NewQuery[any, any](s.Query),
		inputOf(s, places),
		func(answer any, err error) {
			checkAnswer(t, s, places, answer, err)
		},
	)
}

// update sends the workflow an update, and checks the answer.
func (c *kitCase) update(t *testing.T, at time.Duration, s *table.Step, places table.Places) crustertest.Option {
	c.unanswered++
	return crustertest.UpdateAfter(
		at,
		cruster.NewUpdate[any, any](s.Update),
		inputOf(s, places),
		func(answer any, err error) {
			c.unanswered--
			checkAnswer(t, s, places, answer, err)
		},
	)
}

// inputOf is the input of a step; nothing if it was left out.
func inputOf(s *table.Step, places table.Places) any {
	if s.Value.IsZero() {
		return map[string]any{}
	}
	return s.Value.Any(places)
}

func checkAnswer(t *testing.T, s *table.Step, places table.Places, answer any, err error) {
	t.Helper()
	require.Equal(t, string(s.Refused), cruster.ErrorCode(err), "%v", err)
	if err == nil {
		requireSame(t, s.Answer.Encode(places), abi.MustMarshal(answer))
	}
}

func requirePublished(t *testing.T, want *table.Published, got *crustertest.Published) {
	t.Helper()
	require.Len(t, got.State, len(want.State))
	for name, v := range want.State {
		requireSame(t, v.Encode(table.Places{}), got.State[name])
	}
	require.Len(t, got.Attributes, len(want.Attributes))
	for name, v := range want.Attributes {
		a, err := abi.AttributeOf(got.Attributes[name])
		require.Nil(t, err, name)
		require.Equal(t, v, table.Attribute(a), name)
	}
	if want.Progress == nil {
		require.Nil(t, got.Progress)
		return
	}
	require.Equal(
		t, &abi.Progress{Done: want.Progress.Done, Note: want.Progress.Note, Total: want.Progress.Total}, got.Progress,
	)
}

// times are when the client takes its steps, in virtual time since the start. A step that waits for something, or comes
// after a wait for an answer, comes a second later: the workflows of the table get there in milliseconds, and wait
// there for an hour.
func (c *kitCase) times() []time.Duration {
	var all []time.Duration
	at := time.Duration(0)
	for i, s := range c.Steps {
		if s.Waits() || i > 0 && c.Steps[i-1].Awaits() {
			at += time.Second
		}
		all = append(all, at)
	}
	return all
}

// opens is when the client opens a gate.
func (c *kitCase) opens(gate string) time.Duration {
	i := slices.IndexFunc(c.Steps, func(s table.Step) bool { return s.Open == gate })
	return c.times()[i]
}

func serveOutside(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
	keyed := slices.ContainsFunc(r.Headers, func(h cruster.Header) bool { return h.Name == "X-Key" && h.Value != "" })
	if strings.HasSuffix(r.URL, "/missing") || !keyed {
		return cruster.HTTPResponse{Status: 404, Body: []byte("not here\n")}, nil
	}
	return cruster.HTTPResponse{
		Status: 200, Headers: []cruster.Header{{Name: "X-Answer", Value: r.Method}}, Body: []byte("pong"),
	}, nil
}

// checkEnd compares the outcome with the expected one. Where a host pauses the execution, for its operator to look at,
// a kit fails at once.
func (c *kitCase) checkEnd(t *testing.T, places table.Places) {
	t.Helper()
	out := c.history.Outcome
	if c.State == "" {
		require.Nil(t, out.Error, "%v", out.Error)
		if c.Want != nil {
			requireSame(t, c.Want.Encode(places), out.Value)
		}
		return
	}
	require.NotNil(t, out.Error, "value %x", out.Value)
	switch {
	case c.Error.Code != abi.CodeCrashLoop:
		require.Equal(t, c.Error.Code, out.Error.Code, "%v", out.Error)
	default:
		require.Equal(t, abi.CodeGuestTrap, out.Error.Code, "%v", out.Error)
	}
	require.Equal(t, c.State == "interrupted", out.Error.Code == abi.CodeInterrupted)
	require.Contains(t, out.Error.Message, c.Error.Text.Text())
	require.Contains(t, out.Error.Message, c.Error.Words["go"])
	require.NotEmpty(t, out.Error.Hint)
	if c.Error.Type != nil {
		require.Equal(t, *c.Error.Type, out.Error.Type)
	}
	if c.Error.Details != nil {
		requireSame(t, c.Error.Details.Encode(places), out.Error.Details)
	}
}

// checkStep checks the object of a wait of the client.
func (c *kitCase) checkStep(t *testing.T, s *table.Step, at time.Duration) {
	t.Helper()
	pending, kinds, delivered := waitsBefore(c.runAt(at))
	if s.Op != "" {
		require.Contains(t, pending, s.Op)
	}
	if s.Delivered != nil {
		require.Equal(t, *s.Delivered, delivered)
	}
	if s.Pending != 0 {
		require.Len(t, pending, s.Pending)
	}
	if s.Alone != nil {
		require.Equal(t, s.Alone, kinds, "the workflow must wait for nothing else")
	}
}

func requireSame(t *testing.T, want, got []byte) {
	t.Helper()
	expected, err := abi.Canonical(want)
	require.NoError(t, err)
	var a, b any
	require.NoError(t, abi.Unmarshal(expected, &a))
	require.NoError(t, abi.Unmarshal(got, &b))
	if string(expected) != string(got) {
		require.Equal(t, a, b)
		require.Equal(t, expected, got, "the values are equal but their bytes differ")
	}
}

// runAt is the run of the execution that was under way at a time since its start, and that time
// since the start of the run.
func (c *kitCase) runAt(at time.Duration) (*crustertest.History, time.Duration) {
	runs := append(slices.Clone(c.history.Before), c.history)
	when := runs[0].Start.Add(at)
	i := len(runs) - 1
	for i > 0 && !runs[i].Start.Before(when) {
		i--
	}
	return &runs[i], when.Sub(runs[i].Start)
}

// waitsBefore lists the ops that the workflow waited for right before a time since its start, with their kinds, and
// counts the deliveries before.
func waitsBefore(h *crustertest.History, at time.Duration) (pending, kinds []string, delivered int) {
	var ops []uint32
	issued := map[uint32]crustertest.Event{}
	for _, e := range h.Events {
		if e.Time.Sub(h.Start) >= at {
			break
		}
		switch e.Type {
		case crustertest.Issued:
			ops, issued[e.Op] = append(ops, e.Op), e
		case crustertest.Delivered:
			delivered++
			fallthrough
		case crustertest.Canceled:
			ops = slices.DeleteFunc(ops, func(op uint32) bool { return op == e.Op })
		}
	}
	for _, op := range ops {
		pending, kinds = append(pending, opLine(issued[op])), append(kinds, issued[op].Kind)
	}
	return pending, kinds, delivered
}

// deliveries summarises the history as tests/conformance summarises a journal.
func deliveries(h *crustertest.History) []string {
	issued, lines := map[uint32]crustertest.Event{}, []string{}
	for _, e := range h.Events {
		line := opLine(issued[e.Op])
		switch e.Type {
		case crustertest.Issued:
			issued[e.Op] = e
		case crustertest.Retried:
			lines = append(lines, line+" failed")
		case crustertest.Delivered:
			if e.Err != nil {
				line += " " + string(e.Err.Code)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// opLine is an op as the table writes it: "activity count key a".
func opLine(e crustertest.Event) string {
	line := e.Kind
	if e.Kind == abi.OpEntityCall || e.Kind == abi.OpEntitySend { // the history of a kit names the entity, too
		m, err := abi.DecodeAs[abi.EntityMessage](e.Body)
		if err != nil {
			return line + " " + err.Error()
		}
		return line + " " + m.Operation
	}
	if e.Kind != abi.OpSleep && e.Kind != abi.OpLock && e.Name != "" { // the name of a lock is for people
		line += " " + e.Name
	}
	var a abi.Activity
	if e.Kind == abi.OpActivity && abi.Unmarshal(e.Body, &a) == nil && a.Key != "" {
		line += " key " + a.Key
	}
	return line
}
