package cruster_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

type account struct {
	Missing int64 `json:"missing"`
}

var (
	declined = cruster.NewActivity("test.declined", func(_ *cruster.ActivityContext, final bool) (int, error) {
		err := cruster.WithDetails(cruster.Errorf("card_declined", "card %d is declined", 7), account{Missing: 5})
		if final {
			return 0, fmt.Errorf("pay: %w", cruster.NonRetryable(err))
		}
		return 0, err
	}, cruster.Retries(2))

	failing = cruster.NewWorkflow("test.failing", func(ctx cruster.Context, final bool) (int, error) {
		n, err := declined.Call(ctx, final)
		var e *cruster.Error
		if !errors.As(err, &e) || e.Type != "card_declined" || cruster.ErrorType(err) != e.Type {
			return 0, errors.New("the error lost its type")
		}
		details, ok := cruster.Details[account](err)
		if !ok || details.Missing != 5 {
			return 0, errors.New("the error lost its details")
		}
		return n, err
	})
)

func TestTypedErrors(t *testing.T) {
	t.Parallel()
	for _, final := range []bool{true, false} {
		_, h, err := run(t, failing, final)
		require.Equal(t, string(abi.CodeWorkflowFailed), cruster.ErrorCode(err))
		require.Equal(t, "card_declined", cruster.ErrorType(err))
		require.ErrorContains(t, err, "card 7 is declined")
		details, ok := cruster.Details[account](err)
		require.True(t, ok)
		require.Equal(t, int64(5), details.Missing)
		require.Equal(t, final, h.Duration() == 0, "final errors are not retried")
	}
}

func TestErrorsOfOtherKinds(t *testing.T) {
	t.Parallel()
	require.Empty(t, cruster.ErrorType(errors.New("plain")))
	require.Empty(t, cruster.ErrorCode(nil))
	require.NoError(t, cruster.NonRetryable(nil))
	_, ok := cruster.Details[account](cruster.Errorf("t", "no details"))
	require.False(t, ok)
	_, ok = cruster.Details[account](cruster.WithDetails(cruster.Errorf("t", "other details"), "text"))
	require.False(t, ok, "details of another type are not decoded")
	lost := cruster.WithDetails(cruster.Errorf("t", "declined"), make(chan int))
	require.ErrorContains(t, lost, "declined (its details are lost: ")
}
