package rpcerror_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

func TestDiffsSurviveTheWire(t *testing.T) {
	t.Parallel()
	cause := abi.Errorf(abi.CodeDoesNotFit, "shop/Buy/k does not fit")
	diff := &crusterv1.Diff{
		Before: 1, After: 2, Rows: []*crusterv1.DiffRow{{Journal: "activity pay", Code: "sleep", Note: "another step"}},
	}
	st := rpcerror.WithDiff(rpcerror.Status(cause, 0), diff)
	require.Equal(t, codes.FailedPrecondition, st.Code())

	err := rpcerror.From(fmt.Errorf("wrapped: %w", rpcerror.From(st.Err())))
	var misfit *rpcerror.Misfit
	require.ErrorAs(t, err, &misfit)
	require.True(t, proto.Equal(diff, misfit.Diff))
	require.Equal(t, cause, misfit.Cause)
	require.Equal(t, abi.CodeDoesNotFit, abi.CodeOf(err), "the *abi.Error is in the chain")
}

// A status travels in a trailer, so a long diff is cut to the steps around the first that differs, and says how many it
// leaves out.
func TestLongDiffsAreCut(t *testing.T) {
	t.Parallel()
	for _, wrong := range []int{0, 3, 50, 99} {
		diff := &crusterv1.Diff{Before: 7, After: 9}
		for i := range 100 {
			row := &crusterv1.DiffRow{Journal: fmt.Sprintf("step %d", i), Code: strings.Repeat("x", 1000)}
			if i == wrong {
				row.Note = "another step"
			}
			diff.Rows = append(diff.Rows, row)
		}
		var misfit *rpcerror.Misfit
		require.ErrorAs(
			t, rpcerror.From(rpcerror.WithDiff(rpcerror.Status(abi.Errorf(abi.CodeDoesNotFit, "no"), 0), diff).Err()),
			&misfit,
		)
		got := misfit.Diff
		require.Less(t, proto.Size(got), 4<<10)
		require.Equal(t, 7+100+9, int(got.GetBefore())+len(got.GetRows())+int(got.GetAfter()))
		shown := ""
		for _, r := range got.GetRows() {
			if r.GetNote() != "" {
				shown = r.GetJournal()
			}
		}
		require.Equal(t, fmt.Sprintf("step %d", wrong), shown)
	}
}
