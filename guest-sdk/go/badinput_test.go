package cruster_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// colour is text that does not always decode: a host cannot know.
type colour string

func (c colour) MarshalText() ([]byte, error) { return []byte(c), nil }

func (c *colour) UnmarshalText(text []byte) error {
	if string(text) == "loud" {
		return errors.New("loud is no colour")
	}
	*c = colour(text)
	return nil
}

var (
	paintQuery  = cruster.NewQuery[colour, string]("test.paint-query")
	paintUpdate = cruster.NewUpdate[colour, string]("test.paint-update")
	paintFirst  = cruster.NewUpdate[colour, string]("test.paint-first").Validated()
)

var painted = cruster.NewWorkflow("test.painted", func(ctx cruster.Context, _ cruster.None) (string, error) {
	paint := func(_ cruster.Context, c colour) (string, error) { return string(c), nil }
	paintQuery.Handle(ctx, func(c colour) (string, error) { return string(c), nil })
	paintUpdate.Handle(ctx, paint)
	paintFirst.Handle(ctx, func(colour) error { return nil }, paint)
	return "dry", cruster.Sleep(ctx, time.Hour)
}).Answers(paintQuery).Takes(paintUpdate, paintFirst)

// An input that does not decode is the fault of its sender, not of the workflow's code.
func TestInputsThatDoNotDecode(t *testing.T) {
	t.Parallel()
	got := map[string]error{}
	note := func(name string) func(string, error) {
		return func(_ string, err error) { got[name] = err }
	}
	_, err := crustertest.Execute(painted, cruster.None{},
		crustertest.QueryAfter(time.Minute, paintQuery, "loud", note("query test.paint-query")),
		crustertest.UpdateAfter(time.Minute, paintUpdate, "loud", note("update test.paint-update")),
		crustertest.UpdateAfter(time.Minute, paintFirst, "loud", note("update test.paint-first")))
	require.NoError(t, err)
	require.Len(t, got, 3)
	for name, err := range got {
		coded := abi.AsError(err)
		require.Equal(t, abi.CodeBadInput, coded.Code, "%s: %v", name, err)
		require.Equal(
			t, "the input does not fit "+name+": decode *cruster_test.colour: loud is no colour", coded.Message,
		)
		require.NotContains(t, coded.Hint, "the workflow's code")
	}
}
