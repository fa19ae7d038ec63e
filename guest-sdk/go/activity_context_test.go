package cruster_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// probe is an activity that each test replaces with a stub.
var probe = cruster.NewActivity(
	"test.probe", func(*cruster.ActivityContext, int) (string, error) { return "", nil }, cruster.Retries(1),
)

var probing = cruster.NewWorkflow("test.probing", func(ctx cruster.Context, n int) (string, error) {
	return probe.Call(ctx, n)
})

// inActivity runs fn as an activity.
func inActivity(
	t *testing.T, fn func(ctx *cruster.ActivityContext) (string, error), opts ...crustertest.Option,
) (string, error) {
	t.Helper()
	stub := crustertest.Stub(probe, func(ctx *cruster.ActivityContext, _ int) (string, error) { return fn(ctx) })
	return crustertest.Run(t, probing, 0, append(opts, stub)...)
}

func TestConfigAndLog(t *testing.T) {
	t.Parallel()
	got, err := inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		a, foundA := ctx.Config("region")
		b, foundB := ctx.Config("nothing")
		ctx.Logger().Warn("look", "region", a)
		return fmt.Sprint(a, foundA, b, foundB), nil
	}, crustertest.Config("region", "eu"))
	require.NoError(t, err)
	require.Equal(t, "eutruefalse", got)
}
