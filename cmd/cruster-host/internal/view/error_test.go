package view_test

import (
	"cmp"
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
	require.Equal(
		t, "CR-2006: no (broke)", view.ErrorOf(&crusterv1.Error{Code: "CR-2006", Message: "no", Type: "broke"}).Text(),
	)
}

func TestFailureHints(t *testing.T) {
	t.Parallel()
	cause := abi.CodeHTTPForbidden
	for name, tc := range map[string]struct {
		code    abi.Code
		message string
		want    string // empty for the general one of the code
	}{
		"Cause":       {abi.CodeWorkflowFailed, "pay: " + string(cause) + ": no", cause.Info().Hint},
		"NoCause":     {abi.CodeWorkflowFailed, "no", ""},
		"UnknownCode": {abi.CodeWorkflowFailed, "CR-9999: no", ""},
		"NotACode":    {abi.CodeWorkflowFailed, "XCR-32011", ""},
		"Crash":       {abi.CodeCrashLoop, "crashed; last: " + string(abi.CodeGuestTrap) + ": no", ""},
		"TooLong": {
			abi.CodeCrashLoop, "crashed; last: " + string(abi.CodeGuestTimeout) + ": no",
			abi.CodeGuestTimeout.Info().Hint,
		},
		"Operator": {abi.CodeFailedByOperator, "gone; " + string(cause) + ": no", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			general := tc.code.Info().Hint
			require.Equal(t, cmp.Or(tc.want, general), view.FailureHint(tc.code, tc.message, general))
			require.Equal(t, "for this one", view.FailureHint(tc.code, tc.message, "for this one"))
		})
	}
}
