package cruster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	approved = cruster.NewDeferred[string]("approved")
	answer   = cruster.NewDeferred[pair]("answer")
)

var fromInside = cruster.NewWorkflow("test.fromInside", func(ctx cruster.Context, _ int) (string, error) {
	waiting := answer.Future(ctx)
	first, err := answer.Resolve(ctx, pair{A: 1, B: "one"})
	if err != nil {
		return "", err
	}
	second, err := answer.Reject(ctx, errors.New("too late"))
	if err != nil {
		return "", err
	}
	early, err := waiting.Await(ctx)
	if err != nil {
		return "", err
	}
	late, err := answer.Await(ctx)
	return fmt.Sprint(first, second, early, late), err
}).Accepts(answer)

func TestDeferredFromInside(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, fromInside, 0)
	require.NoError(t, err)
	require.Equal(t, "true false {1 one} {1 one}", got)
}

var awaiting = cruster.NewWorkflow("test.awaiting", func(ctx cruster.Context, before time.Duration) (string, error) {
	if err := cruster.Sleep(ctx, before); err != nil {
		return "", err
	}
	return approved.Await(ctx)
}).Accepts(approved)

func TestDeferredFromOutside(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{time.Second, time.Hour} {
		got, _, err := run(t, awaiting, before,
			crustertest.ResolveAfter(time.Minute, approved, "first"),
			crustertest.ResolveAfter(2*time.Minute, approved, "second"),
		)
		require.NoError(t, err)
		require.Equal(t, "first", got, "the first settlement stands")
	}
	_, _, err := run(
		t, awaiting, 0, crustertest.RejectAfter(time.Minute, approved, cruster.Errorf("denied", "not allowed")),
	)
	require.Equal(t, "denied", cruster.ErrorType(err))
	require.ErrorContains(t, err, "not allowed")

	_, err = crustertest.Run(t, awaiting, time.Second)
	require.ErrorContains(t, err, "waits for deferred approved")
}

// resolvingElsewhere resolves a deferred of another execution.
var resolvingElsewhere = cruster.NewWorkflow(
	"test.resolvingElsewhere",
	func(ctx cruster.Context, _ int) (string, error) {
		id, err := awaiting.Client().Start(ctx, time.Second)
		if err != nil {
			return "", err
		}
		if _, err := approved.ResolveIn(ctx, id, "from another"); err != nil {
			return "", err
		}
		_, missing := approved.ResolveIn(ctx, "test/missing/x", "")
		got, err := awaiting.Client().Execute(ctx, time.Second)
		return got + " " + cruster.ErrorCode(missing), err
	},
)

func TestDeferredOfAnotherExecution(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, resolvingElsewhere, 0)
	require.NoError(t, err)
	require.Equal(t, "from another "+string(abi.CodeExecutionNotFound), got)
}

// ruling is the result of approvals.
type ruling struct {
	Approved bool   `json:"approved"`
	Level    int8   `json:"level"`
	Note     string `json:"note,omitempty"`
}

var (
	ruled     = cruster.NewDeferred[ruling]("ruled")
	approvals = cruster.NewDynamicDeferred[ruling]("approve-")
)

// committee waits for the answers of all its members, by given names.
var committee = cruster.NewWorkflow("test.committee", func(ctx cruster.Context, members []string) (int, error) {
	votes := 0
	for _, m := range members {
		r, err := approvals.Named(m).Await(ctx)
		if err != nil {
			return votes, err
		}
		if r.Approved {
			votes++
		}
	}
	return votes, nil
}).Accepts(ruled, approvals)

func TestDynamicDeferreds(t *testing.T) {
	t.Parallel()
	require.Equal(t, "approve-", approvals.Name())
	require.Equal(t, "approve-bob", approvals.Named("bob").Name())
	votes, h, err := run(t, committee, []string{"ada", "bob"},
		crustertest.ResolveAfter(time.Minute, approvals.Named("bob"), ruling{Approved: true}),
		crustertest.ResolveAfter(time.Hour, approvals.Named("ada"), ruling{}),
	)
	require.NoError(t, err)
	require.Equal(t, 1, votes)
	require.NoError(t, h.Replay())

	require.PanicsWithValue(t, `cruster: a deferred "approve-" needs a name that goes on`, func() {
		approvals.Named("")
	})
	require.Panics(t, func() { approvals.Named("no name") })
	require.Panics(t, func() { cruster.NewDynamicDeferred[int]("") })
}

func TestDeferredsAreRefused(t *testing.T) {
	t.Parallel()
	after := func(o crustertest.Option) error {
		_, err := crustertest.Run(t, committee, []string{"ada"}, o)
		return err
	}
	ruledAs := func(value map[string]any) crustertest.Option {
		return crustertest.ResolveAfter(time.Second, cruster.NewDeferred[any]("ruled"), any(value))
	}
	for name, c := range map[string]struct {
		settle crustertest.Option
		code   abi.Code
		text   string
	}{
		"unknown": {
			crustertest.ResolveAfter(time.Second, cruster.NewDeferred[ruling]("rulled"), ruling{}),
			abi.CodeUnknownDeferred, `did you mean "ruled"?`,
		},
		"rejection": {
			crustertest.RejectAfter(time.Second, cruster.NewDeferred[ruling]("aprove-ada"), errors.New("no")),
			abi.CodeUnknownDeferred, `did you mean "approve-*"?`,
		},
		"misspelt": {
			ruledAs(map[string]any{"aproved": true, "level": 1}), abi.CodeBadInput, `did you mean "approved"?`,
		},
		"missing": {ruledAs(map[string]any{"approved": true}), abi.CodeBadInput, `the field "level" is missing`},
		"dynamic": {
			crustertest.ResolveAfter(time.Second, cruster.NewDeferred[bool]("approve-ada"), true), abi.CodeBadInput,
			"expected struct, got bool",
		},
	} {
		err := after(c.settle)
		require.Equal(t, string(c.code), cruster.ErrorCode(err), "%s: %v", name, err)
		require.ErrorContains(t, err, c.text)
	}
}

// misruling settles deferreds of another execution in ways that it does not take.
var misruling = cruster.NewWorkflow("test.misruling", func(ctx cruster.Context, _ int) ([]string, error) {
	other, err := committee.Client().Start(ctx, []string{"ada"})
	if err != nil {
		return nil, err
	}
	var codes []string
	note := func(_ bool, err error) { codes = append(codes, cruster.ErrorCode(err)) }
	note(approved.ResolveIn(ctx, other, "text"))
	note(approved.RejectIn(ctx, other, errors.New("no")))
	note(cruster.NewDeferred[bool]("approve-ada").ResolveIn(ctx, other, true))
	note(cruster.NewDeferred[map[string]bool]("approve-ada").ResolveIn(ctx, other, map[string]bool{"aproved": true}))
	note(approvals.Named("ada").ResolveIn(ctx, other, ruling{Approved: true}))
	votes, err := committee.Client().Execute(ctx, []string{"ada"})
	return append(codes, fmt.Sprint(votes)), err
})

func TestDeferredsOfAnotherExecutionAreTyped(t *testing.T) {
	t.Parallel()
	codes, _, err := run(t, misruling, 0)
	require.NoError(t, err)
	unknown, bad := string(abi.CodeUnknownDeferred), string(abi.CodeBadInput)
	require.Equal(t, []string{unknown, unknown, bad, bad, "", "1"}, codes)
}

// trusting takes anything, as modules of before did, and then wants a ruling.
var trusting = cruster.NewWorkflow("test.trusting", func(ctx cruster.Context, _ int) (ruling, error) {
	r, err := ruled.Await(ctx)
	if err != nil {
		panic(err) // it must not come to this: the ruling was made
	}
	return r, nil
}).Accepts(cruster.NewDeferred[any]("ruled"))

// TestCodeDoesNotGoOnWithMisfits decodes values that a host has not checked against the type.
func TestCodeDoesNotGoOnWithMisfits(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for want, value := range map[string]any{
		`the field "approved" is missing`:        m{"aproved": true, "level": 1},
		`the field "level" is missing`:           m{"approved": true},
		"expected struct, got null":              nil,
		"expected struct, got list":              []any{},
		"approved: expected bool, got null":      m{"approved": nil, "level": 1},
		"approved: expected bool, got string":    m{"approved": "yes", "level": 1},
		"level: 300 is out of the range of int8": m{"approved": true, "level": 300},
		"level: expected int8, got float":        m{"approved": true, "level": 1.5},
		"note: expected string, got null":        m{"approved": true, "level": 1, "note": nil},
	} {
		got, err := crustertest.Run(
			t, trusting, 0, crustertest.ResolveAfter(time.Second, cruster.NewDeferred[any]("ruled"), value),
		)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "CR-4014: the result of deferred ruled does not fit")
		require.Equal(t, abi.CodeUnreadable, abi.CodeOf(err))
		require.Contains(t, abi.AsError(err).Hint, "Compare the types")
		require.Zero(t, got)
	}
	got, err := crustertest.Run(
		t, trusting, 0,
		crustertest.ResolveAfter(
			time.Second, cruster.NewDeferred[any]("ruled"), any(m{"approved": true, "level": 2, "at": "noon"}),
		),
	)
	require.NoError(t, err, "code that has dropped a field reads what was stored with it")
	require.Equal(t, ruling{Approved: true, Level: 2}, got)
}

// undeclaredDeferred uses deferreds that it does not accept.
var undeclaredDeferred = cruster.NewWorkflow(
	"test.undeclaredDeferred",
	func(ctx cruster.Context, settle bool) (string, error) {
		if settle {
			_, err := approved.Reject(ctx, errors.New("no"))
			return "", err
		}
		return approved.Await(ctx)
	},
)

func TestDeferredsAreDeclared(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, undeclaredDeferred, false)
	require.ErrorContains(
		t, err,
		`CR-4002: workflow test.undeclaredDeferred waits for deferred "approved", which it does not accept: declare it`,
	)
	_, err = crustertest.Run(t, undeclaredDeferred, true)
	require.ErrorContains(
		t, err,
		`CR-4002: workflow test.undeclaredDeferred settles deferred "approved", which it does not accept: declare it`,
	)

	require.PanicsWithValue(t, `cruster: workflow test.committee accepts deferred "ruled" twice`, func() {
		committee.Accepts(ruled)
	})
	for _, meets := range []cruster.Accepted{
		approvals.Named("ada"), cruster.NewDynamicDeferred[int]("approve-all-"), cruster.NewDynamicDeferred[int]("app"),
	} {
		require.Panics(t, func() { committee.Accepts(meets) }, meets.Name())
	}
}

// nothing waits for a deferred that says nothing.
var nothing = cruster.NewWorkflow("test.nothing", func(ctx cruster.Context, _ int) (cruster.None, error) {
	return over.Await(ctx)
}).Accepts(over)

var over = cruster.NewDeferred[cruster.None]("over")

func TestDeferredOfNothing(t *testing.T) {
	t.Parallel()
	for _, value := range []any{nil, cruster.None{}} {
		_, err := crustertest.Run(
			t, nothing, 0, crustertest.ResolveAfter(time.Second, cruster.NewDeferred[any]("over"), value),
		)
		require.NoError(t, err)
	}
}
