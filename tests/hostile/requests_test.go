package hostile

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestStartsAreRefused makes invalid starts.
func TestStartsAreRefused(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, testStartsAreRefused)
}

func testStartsAreRefused(t *testing.T, store journal.Store) {
	b := setupOn(t, store)
	b.pushRaw(t)
	typed := wellMade()
	typed.manifest = abi.MustMarshal(abi.Manifest{
		Workflows: []abi.WorkflowInfo{{
			Name: "W", Key: abi.KeyFromRequest, Input: &abi.Schema{Type: abi.TypeInt, Bits: 8},
		}},
	})
	require.NoError(t, b.push(t, "typed", typed.binary()))
	good := harness.Encode(t, script{Where: inWorkflow})
	raw := func(key string) host.StartRequest {
		return host.StartRequest{Workflow: "raw/Raw", Input: good, Key: key, KeyMode: abi.KeyRaw}
	}
	for name, c := range map[string]struct {
		req  host.StartRequest
		code abi.Code
	}{
		"nothing":       {host.StartRequest{}, abi.CodeUnknownWorkflow},
		"no deployment": {host.StartRequest{Workflow: "Raw", Input: good}, abi.CodeUnknownWorkflow},
		"half a name":   {host.StartRequest{Workflow: "raw/", Input: good}, abi.CodeUnknownWorkflow},
		"unknown deployment": {
			host.StartRequest{Workflow: "nowhere/Raw", Input: good}, abi.CodeDeploymentNotFound,
		},
		"strange deployment": {
			host.StartRequest{Workflow: "' OR 1=1 --\x00/Raw", Input: good}, abi.CodeDeploymentNotFound,
		},
		"a strange namespace": {
			host.StartRequest{Namespace: "a\x00b", Workflow: "raw/Raw", Input: good}, abi.CodeDeploymentNotFound,
		},
		"a binary namespace": {
			host.StartRequest{Namespace: "\xff", Workflow: "raw/Raw", Input: good}, abi.CodeDeploymentNotFound,
		},
		"a long namespace": {
			host.StartRequest{Namespace: strings.Repeat("n", 1<<20), Workflow: "raw/Raw", Input: good},
			abi.CodeDeploymentNotFound,
		},
		"unknown namespace": {
			host.StartRequest{Namespace: "others", Workflow: "raw/Raw", Input: good}, abi.CodeDeploymentNotFound,
		},
		"unknown workflow":      {host.StartRequest{Workflow: "raw/Missing", Input: good}, abi.CodeUnknownWorkflow},
		"workflow with a slash": {host.StartRequest{Workflow: "raw/Raw/x", Input: good}, abi.CodeUnknownWorkflow},
		"a very long name": {
			host.StartRequest{Workflow: "raw/" + strings.Repeat("x", 1<<20), Input: good}, abi.CodeUnknownWorkflow,
		},
		"a very long deployment": {
			host.StartRequest{Workflow: strings.Repeat("x", 1<<20) + "/Raw", Input: good}, abi.CodeDeploymentNotFound,
		},
		"no input":       {host.StartRequest{Workflow: "typed/W"}, abi.CodeBadInput},
		"an empty input": {host.StartRequest{Workflow: "raw/Raw", Input: []byte{}}, abi.CodeBadInput},
		"garbage":        {host.StartRequest{Workflow: "raw/Raw", Input: []byte{0xc1}}, abi.CodeBadInput},
		"two values": {
			host.StartRequest{Workflow: "raw/Raw", Input: []byte{0xc0, 0xc0}}, abi.CodeBadInput,
		},
		"cut off": {
			host.StartRequest{Workflow: "raw/Raw", Input: good[:len(good)-1]}, abi.CodeBadInput,
		},
		"a bomb of lists": {
			host.StartRequest{Workflow: "raw/Raw", Input: bytes.Repeat([]byte{0x91}, 1<<20)}, abi.CodeBadInput,
		},
		"a lying length": {
			host.StartRequest{Workflow: "raw/Raw", Input: []byte{0xdd, 0xff, 0xff, 0xff, 0xff}}, abi.CodeBadInput,
		},
		"too large": {
			host.StartRequest{Workflow: "raw/Raw", Input: harness.Encode(t, make([]byte, 4<<20))},
			abi.CodePayloadTooLarge,
		},
		"another type": {
			host.StartRequest{Workflow: "typed/W", Input: harness.Encode(t, "text")}, abi.CodeBadInput,
		},
		"a number too large": {
			host.StartRequest{Workflow: "typed/W", Input: harness.Encode(t, 200)}, abi.CodeBadInput,
		},
		"nil for a number":        {host.StartRequest{Workflow: "typed/W", Input: abi.Nil}, abi.CodeBadInput},
		"an empty key":            {raw(""), abi.CodeBadKey},
		"a long key":              {raw(strings.Repeat("k", abi.MaxKey+1)), abi.CodeBadKey},
		"a key that is not UTF-8": {raw("\xff"), abi.CodeBadKey},
		"a key with a control":    {raw("a\x1b[2Jb"), abi.CodeBadKey},
		"a key with a zero":       {raw("a\x00b"), abi.CodeBadKey},
		"an empty hashed key": {
			host.StartRequest{Workflow: "raw/Raw", Input: good, KeyMode: abi.KeyHashed}, abi.CodeBadKey,
		},
		"an unknown key mode": {
			host.StartRequest{Workflow: "raw/Raw", Input: good, Key: "k", KeyMode: "guess"}, abi.CodeBadKey,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := b.engine.Launcher().Start(t.Context(), c.req)
			requireCode(t, err, c.code)
			page, err := b.engine.Observer().List(t.Context(), journal.Filter{})
			require.NoError(t, err)
			require.Empty(t, page.Executions, "a refused start left an execution")
		})
	}
	b.requireGoesOn(t)
}

// TestQuestionsAreRefused asks about executions that do not exist, and makes invalid settlements.
func TestQuestionsAreRefused(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, testQuestionsAreRefused)
}

func testQuestionsAreRefused(t *testing.T, store journal.Store) {
	b := setupOn(t, store)
	b.pushRaw(t)
	e := b.engine
	questions := map[string]func(ctx context.Context, execution string) error{
		"poll": func(ctx context.Context, x string) error { _, err := e.Observer().Poll(ctx, "", x); return err },
		"wait": func(ctx context.Context, x string) error { _, err := e.Observer().Wait(ctx, "", x); return err },
		"describe": func(ctx context.Context, x string) error {
			_, err := e.Observer().Describe(ctx, "", x)
			return err
		},
		"history": func(ctx context.Context, x string) error {
			_, _, err := e.Observer().History(ctx, "", x, 0, 0)
			return err
		},
		"resume":    func(ctx context.Context, x string) error { return e.Executions().Resume(ctx, "", x) },
		"fail":      func(ctx context.Context, x string) error { return e.Executions().Fail(ctx, "", x, "why") },
		"interrupt": func(ctx context.Context, x string) error { return e.Executions().Interrupt(ctx, "", x, "why") },
		"settle": func(ctx context.Context, x string) error {
			return e.Executions().Settle(ctx, "", x, journal.Deferred{Name: "d", Value: abi.Nil})
		},
	}
	names := []string{
		"", "/", "//", "///", "raw", "raw/Raw", "raw/Raw/", "raw//k", "/Raw/k", "raw/Raw/missing", "nowhere/X/k",
		"raw/Raw/\x00", "\xff/\xff/\xff",
		"raw/Raw/" + strings.Repeat("k", 1<<20), strings.Repeat("/", 1<<16), "raw/Raw/' OR '1'='1",
	}
	for name, ask := range questions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, x := range names {
				requireCode(t, ask(t.Context(), x), abi.CodeExecutionNotFound)
			}
		})
	}
	t.Run("of a live one", func(t *testing.T) {
		t.Parallel()
		parked := abi.StatusParked
		row, _, err := e.Launcher().Start(t.Context(), host.StartRequest{
			Workflow: "raw/Raw",
			KeyMode:  abi.KeyRaw,
			Key:      "live",
			Input: harness.Encode(t, script{
				Where:  inWorkflow,
				Status: &parked,
				Steps:  []step{{Import: abi.OpDeferred, Body: goodBodies()[abi.OpDeferred]}},
			}),
		})
		require.NoError(t, err)
		harness.Pending(t, e, row.Name(), abi.OpDeferred, "d")
		for name, d := range map[string]journal.Deferred{
			"no name":      {Value: abi.Nil},
			"a long name":  {Name: strings.Repeat("d", abi.MaxName+1), Value: abi.Nil},
			"not UTF-8":    {Name: "\xff", Value: abi.Nil},
			"a zero":       {Name: "d\x00", Value: abi.Nil},
			"a control":    {Name: "d\x1b[2J", Value: abi.Nil},
			"garbage":      {Name: "d", Value: []byte{0xc1}},
			"two values":   {Name: "d", Value: []byte{0xc0, 0xc0}},
			"a huge value": {Name: "d", Value: harness.Encode(t, make([]byte, 4<<20))},
			"a deep value": {Name: "d", Value: append(bytes.Repeat([]byte{0x91}, 1000), 0xc0)},
		} {
			requireCode(t, e.Executions().Settle(t.Context(), "", row.Name(), d), "")
			described, err := e.Observer().Describe(t.Context(), "", row.Name())
			require.NoError(t, err)
			require.Empty(t, described.Deferreds, "%s was stored", name)
		}
		requireCode(
			t, e.Executions().Interrupt(t.Context(), "", row.Name(), strings.Repeat("why ", 10_000)),
			abi.CodeBadRequest,
		)
		requireCode(t, e.Executions().Resume(t.Context(), "", row.Name()), abi.CodeNotPaused)
		requireCode(
			t, e.Executions().Fail(t.Context(), "", row.Name(), strings.Repeat("why ", 10_000)), abi.CodeBadRequest,
		)
		requireCode(t, e.Executions().Fail(t.Context(), "", row.Name(), " \t"), abi.CodeBadRequest)
		require.NoError(t, e.Executions().Interrupt(t.Context(), "", row.Name(), "a zero \x00 and not UTF-8 \xff"))
		described, err := e.Observer().Describe(t.Context(), "", row.Name())
		require.NoError(t, err)
		require.Contains(t, described.Interrupt.Reason, "a zero")
		require.True(t, utf8.ValidString(described.Interrupt.Reason))
		entries, _, err := e.Observer().History(t.Context(), "", row.Name(), math.MaxUint64, -1)
		if err != nil {
			requireCode(t, err, "")
		}
		require.Empty(t, entries)
	})
	for name, f := range map[string]journal.Filter{
		"an unknown cursor":   {After: "nonsense"},
		"a binary cursor":     {After: "\x00\xff"},
		"a limit below zero":  {Limit: -1},
		"a limit too high":    {Limit: math.MaxInt},
		"an unknown state":    {State: "sleeping"},
		"a strange workflow":  {Workflow: "%_' --"},
		"a zero":              {Workflow: "a\x00b", State: "\x00"},
		"not UTF-8":           {Workflow: "\xff"},
		"a strange namespace": {Namespace: "\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := e.Observer().List(t.Context(), f)
			if err != nil {
				requireCode(t, err, "")
			}
			require.LessOrEqual(t, len(page.Executions), 1000)
		})
	}
}
