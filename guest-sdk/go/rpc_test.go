package cruster_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var (
	health = cruster.NewRPCGroup("test.Health")
	unused = cruster.NewRPCGroup("test.Unused")

	gateway = cruster.NewEntity("test.Gateway", cruster.Concurrency(4)).Include(health)
	archive = cruster.NewEntity("test.Archive").Include(health)

	// Added to the group after entities have included it, or before: the order in which packages are initialised does
	// not matter.
	check = cruster.NewGroupRPC(health, "check", func(ctx *cruster.RPCContext, _ cruster.None) (string, error) {
		return ctx.ID() + " is well", nil
	})
	unusedRPC = cruster.NewGroupRPC(unused, "x", func(*cruster.RPCContext, int) (int, error) { return 0, nil })

	lookup = cruster.NewRPC(gateway, "lookup", func(ctx *cruster.RPCContext, what string) (string, error) {
		switch what {
		case "fail":
			return "", cruster.Errorf("unknown", "there is no %s", what)
		case "panic":
			panic("kaboom")
		case "sql":
			_, err := ctx.Tx().Exec("INSERT INTO t VALUES (1)")
			return "", err
		case "http":
			r, err := ctx.HTTP().Get("https://example.com/" + ctx.ID())
			return string(r.Body), err
		}
		value, _ := ctx.Config(what)
		ctx.Logger().Info("looked up", "what", what)
		return fmt.Sprint(value, " ", ctx.ID(), " ", ctx.Namespace(), " ", ctx.IdempotencyKey()), ctx.Err()
	})

	submit = cruster.NewRPC(
		gateway, "submit", func(ctx *cruster.RPCContext, _ int) (string, error) { return ctx.IdempotencyKey(), nil },
		cruster.Persisted(),
	)
)

func TestRPCs(t *testing.T) {
	t.Parallel()
	e := crustertest.NewEntities(
		t,
		crustertest.Config("port", "80"),
		crustertest.HandleHTTP(func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			return cruster.HTTPResponse{Status: 200, Body: []byte(r.URL)}, nil
		}),
	)
	for what, want := range map[string]string{"port": "80 eu test ", "http": "https://example.com/eu"} {
		got, err := crustertest.Call(e, lookup, "eu", what)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for what, code := range map[string]abi.Code{
		"fail": abi.CodeOperationFailed, "panic": abi.CodeOperationCrashed, "sql": abi.CodeWrongContext,
	} {
		_, err := crustertest.Call(e, lookup, "eu", what)
		require.Equal(t, string(code), cruster.ErrorCode(err), what)
		var seen *cruster.Error
		require.ErrorAs(t, err, &seen)
		require.False(t, seen.Retryable)
		if what == "panic" {
			require.Regexp(
				t,
				`^operation lookup of entity [^ ]+ panicked: kaboom \(in [^ <]*\.init\.func\d+ go/rpc_test\.go:\d+\)$`,
				seen.Message,
			)
		}
	}
	first, err := crustertest.Call(e, submit, "eu", 1)
	require.NoError(t, err)
	second, err := crustertest.Call(e, submit, "eu", 1)
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.NotEmpty(t, first)
	require.Empty(t, e.Names(), "they keep nothing")
}

var asking = cruster.NewWorkflow("test.asking", func(ctx cruster.Context, _ int) ([]string, error) {
	a, err := check.Of(gateway).On("eu").Call(ctx, cruster.None{})
	if err != nil {
		return nil, err
	}
	b, err := check.Of(archive).On("us").Call(ctx, cruster.None{})
	if err != nil {
		return nil, err
	}
	_, failed := lookup.On("eu").Call(ctx, "fail")
	var e *cruster.Error
	if !errors.As(failed, &e) {
		return nil, failed
	}
	key, err := submit.On("eu").Call(ctx, 1)
	return []string{a, b, e.Type + " " + e.Message, key}, err
})

func TestRPCsInWorkflows(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, asking, 0, crustertest.ExecutionID("test/test.asking/1"))
	require.NoError(t, err)
	require.Equal(
		t,
		[]string{"eu is well", "us is well", "unknown there is no fail", "test/test.Gateway/eu/test/test.asking/1/5"},
		got,
	)
	require.Equal(t, []string{
		"entity_call test.Gateway/eu.test.Health.check", "entity_call test.Archive/us.test.Health.check",
		"entity_call test.Gateway/eu.lookup", "entity_call test.Gateway/eu.submit",
	}, h.Steps())
}
