package view_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	require.Nil(t, view.ErrorOf(nil))
	require.Empty(t, view.ErrorOf(nil).Text())
	require.Equal(t, "no", view.ErrorOf(&crusterv1.Error{Message: "no"}).Text())
	require.Equal(t, "CR-2006: no (broke)", view.ErrorOf(&crusterv1.Error{Code: "CR-2006", Message: "no", Type: "broke"}).Text())
}

func TestFailureHints(t *testing.T) {
	t.Parallel()
	cause := abi.CodeHTTPForbidden
	for name, tc := range map[string]struct {
		code    abi.Code
		message string
		want    string
	}{
		"Cause":       {abi.CodeWorkflowFailed, "pay: " + string(cause) + ": no", cause.Info().Hint},
		"NoCause":     {abi.CodeWorkflowFailed, "no", "general"},
		"UnknownCode": {abi.CodeWorkflowFailed, "CR-9999: no", "general"},
		"NotACode":    {abi.CodeWorkflowFailed, "XCR-32011", "general"},
		"Crash":       {abi.CodeCrashLoop, "crashed; last: " + string(abi.CodeGuestTrap) + ": no", "general"},
		"TooLong":     {abi.CodeCrashLoop, "crashed; last: " + string(abi.CodeGuestTimeout) + ": no", abi.CodeGuestTimeout.Info().Hint},
		"Operator":    {abi.CodeFailedByOperator, "gone; " + string(cause) + ": no", "general"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, view.FailureHint(tc.code, tc.message, "general"))
		})
	}
}
