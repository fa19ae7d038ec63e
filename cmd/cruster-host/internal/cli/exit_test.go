package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()

	for want, errs := range map[int][]error{
		exitOK:       {nil},
		exitInternal: {errors.New("x"), abi.Errorf(abi.CodeInternal, "x")},
		exitSignal:   {context.Canceled, fmt.Errorf("y: %w", context.Canceled)},
		exitUsage: {
			usage.Errorf("x"), abi.Errorf(abi.CodeBadInput, "x"), abi.Errorf(abi.CodeTooManySchedules, "x"),
		},
		exitExists: {
			abi.Errorf(abi.CodeDeferredSettled, "x"), abi.Errorf(abi.CodeScheduleExists, "x"),
			fmt.Errorf("y: %w", abi.Errorf(abi.CodeForkExists, "x")),
		},
		exitState: {
			abi.Errorf(abi.CodeNotPaused, "x"), abi.Errorf(abi.CodeStateLost, "x"),
			abi.Errorf(abi.CodeSettingsInUse, "x"),
		},
		exitForbidden: {abi.Errorf(abi.CodeSQLForbidden, "x"), abi.Errorf(abi.CodeHTTPForbidden, "x")},
		exitNotFound: {
			abi.Errorf(abi.CodeExecutionNotFound, "x"), abi.Errorf(abi.CodeModuleNotFound, "x"),
			fmt.Errorf("y: %w", abi.Errorf(abi.CodeUnknownWorkflow, "x")),
		},
		exitFailed: {
			&client.RunError{State: client.Failed, Cause: abi.Errorf(abi.CodeDeadline, "x")},
			&client.RunError{State: client.Interrupted, Cause: abi.Errorf(abi.CodeInterrupted, "x")},
		},
		exitPaused: {
			&client.RunError{State: client.Paused, Cause: abi.Errorf(abi.CodeNondeterminism, "x")},
			abi.Errorf(abi.CodePaused, "x"), abi.Errorf(abi.CodeHostFault, "x"),
		},
		exitUnavailable: {
			abi.Errorf(abi.CodeUnreachable, "x"), abi.Errorf(abi.CodeOverloaded, "x"),
			abi.Errorf(abi.CodeShuttingDown, "x"),
		},
		exitDeadline: {abi.Errorf(abi.CodeDeadline, "x")},
		exitFenced: {
			abi.Errorf(abi.CodeFenced, "x"),
			errors.Join(abi.Errorf(abi.CodeFenced, "x"), abi.Errorf(abi.CodeStore, "close")),
		},
		exitStore:      {abi.Errorf(abi.CodeStore, "x")},
		exitStoreFull:  {abi.Errorf(abi.CodeStoreFull, "x")},
		exitStoreInUse: {abi.Errorf(abi.CodeStoreInUse, "x")},
		exitAddress:    {abi.Errorf(abi.CodeAddress, "x")},
		exitMisfit: {
			abi.Errorf(abi.CodeDoesNotFit, "x"), &client.Misfit{Cause: abi.Errorf(abi.CodeDoesNotFit, "x")},
			&foreseenRefusal{abi.Errorf(abi.CodeStateLost, "x")},
		},
		exitStoreGone: {abi.Errorf(abi.CodeStoreGone, "x")},
		exitPrivilege: {abi.Errorf(abi.CodeStorePrivilege, "x")},
	} {
		for _, err := range errs {
			require.Equal(t, want, exitCode(err), "%v", err)
		}
	}
}

func TestReportsNameCodeAndHint(t *testing.T) {
	t.Parallel()

	failed := func(cause *abi.Error) error {
		return &client.RunError{Execution: "a/B/c", State: client.Failed, Cause: cause}
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{
			abi.Errorf(abi.CodeExecutionNotFound, "none").WithHint("h"),
			"error: CR-2004: none\nhint: h\n",
		},
		{
			failed(&abi.Error{Code: abi.CodeWorkflowFailed, Message: "no", Type: "t"}),
			"error: CR-2006: a/B/c failed: no\ntype: t\n",
		},
		{
			&client.RunError{Execution: "a/B/c", State: client.Paused, Cause: &abi.Error{Message: "no"}},
			"error: a/B/c is paused: no\nnext: cruster-host workflow resume a/B/c --namespace staging  # once the " +
				"cause is gone\n",
		},
		{
			&client.RunError{Execution: "a/B/c", State: client.Paused, Cause: abi.Errorf(abi.CodeCrashLoop, "no")},
			"error: CR-2010: a/B/c is paused: no\nhint: " + abi.CodeCrashLoop.Info().Hint + "\n" +
				"next: cruster-host workflow move a/B/c --to latest --namespace staging  # once the fixed module is pushed\n" +
				"next: cruster-host workflow resume a/B/c --namespace staging  # if the cause was elsewhere and is gone\n" +
				"next: cruster-host workflow interrupt a/B/c --resume --namespace staging  # to end it with its " +
				"cleanup, if its code gets there\n" +
				"next: cruster-host workflow fail a/B/c --reason WHY --namespace staging  # to end it without\n",
		},
		{
			&client.Misfit{
				Cause: &abi.Error{Code: abi.CodeDoesNotFit, Message: "it does not fit\nboth sides", Hint: "h"},
				Diff: &crusterv1.Diff{
					Rows: []*crusterv1.DiffRow{{Journal: "sleep", Code: "activity pay", Note: "another step"}},
				},
			},
			"error: CR-2031: it does not fit\n    journal   code\n  ≠ sleep     activity pay  (another step)\nhint: h\n",
		},
		{
			context.Canceled,
			"error: stopped before the host answered\nhint: What the host was asked to do goes on: run the command " +
				"again to see how it ends.\n",
		},
		{
			failed(abi.Errorf(abi.CodeWorkflowFailed, "pay: CR-3201: no")),
			"error: CR-2006: a/B/c failed: pay: CR-3201: no\nhint: " + abi.CodeHTTPForbidden.Info().Hint + "\n",
		},
		{
			failed(abi.Errorf(abi.CodeFailedByOperator, "no; CR-2010: it crashes")),
			"error: CR-2020: a/B/c failed: no; CR-2010: it crashes\nhint: " + abi.CodeFailedByOperator.Info().Hint +
				"\n",
		},
		{
			usage.Inputf("no file"),
			"error: no file\n",
		},
		{
			usage.Errorf("oh"),
			"error: oh\nhint: add --help to the command to see how it is used\n",
		},
	} {
		var out strings.Builder
		a := newApp(Process{LookupEnv: environment(), Stderr: &out})
		a.addr, a.namespace = defaultAddr, "staging"
		a.report(tc.err)
		require.Equal(t, tc.want, out.String())
	}
}
