package journal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestCoded(t *testing.T) {
	t.Parallel()
	for want, err := range map[abi.Code]error{
		abi.CodeDeadline:  fmt.Errorf("query: %w", context.DeadlineExceeded),
		abi.CodeFenced:    fmt.Errorf("commit: %w", journal.ErrFenced),
		abi.CodeHostFault: fmt.Errorf("read: %w", &journal.DamagedEntry{Seq: 2, Cause: errors.New("no map")}),
		abi.CodeStore:     errors.New("no connection"),
		abi.CodeSQL:       fmt.Errorf("statement: %w", abi.Errorf(abi.CodeSQL, "no such table")),
	} {
		got := journal.Coded("load it", err)
		require.Equal(t, want, abi.CodeOf(got))
		require.ErrorContains(t, got, errors.Unwrap(fmt.Errorf("%w", err)).Error())
	}
	require.Equal(t, abi.CodeDeadline, abi.CodeOf(journal.Coded("wait", context.Canceled)))
	require.Equal(
		t, abi.CodeStore,
		abi.CodeOf(journal.Coded("commit", errors.Join(journal.ErrUndecided, context.DeadlineExceeded))),
		"it may have taken effect",
	)
	require.Equal(
		t, abi.CodeHostFault, abi.CodeOf(journal.Coded("load", fmt.Errorf("read: %w", journal.ErrCorrupt))),
		"the store works",
	)
	full := fmt.Errorf("claim: %w", journal.ErrFull)
	require.Equal(t, abi.CodeStore, abi.CodeOf(journal.Coded("commit", full)), "a host that runs waits")
	require.Equal(t, abi.CodeStoreFull, abi.CodeOf(journal.CodedAtStart("claim", full)))
	require.Equal(t, abi.CodeFenced, abi.CodeOf(journal.CodedAtStart("claim", journal.ErrFenced)))
}
