package tour

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

func TestProcessOrder(t *testing.T) {
	t.Parallel()
	order := Order{ID: "42", Cents: 300}
	var h crustertest.History
	receipt, err := crustertest.Run(t, ProcessOrder, order,
		crustertest.Stub(Charge, func(_ *cruster.ActivityContext, o Order) (string, error) {
			return "ch_" + o.ID, nil
		}),
		crustertest.Record(&h))
	require.NoError(t, err)
	require.Equal(t, "ch_42", receipt.Charge)
	require.Equal(t, []string{"activity charge"}, h.Steps())
	crustertest.Replay(t, &h)
}

func TestWhatComesFromOutside(t *testing.T) {
	t.Parallel()
	var h crustertest.History
	_, err := crustertest.Run(t, Careful, "ch_1",
		crustertest.Takes(Refund, 2*time.Second),
		crustertest.InterruptAfter(time.Hour, "enough"),
		crustertest.Record(&h))
	require.ErrorIs(t, err, cruster.ErrInterrupted)
	require.Equal(t, time.Hour+2*time.Second, h.Duration())
	crustertest.Replay(t, &h)
}

func TestTaxed(t *testing.T) {
	t.Parallel()
	order := Order{ID: "42", Cents: 300}
	taken, err := crustertest.Run(t, Taxed, order)
	require.NoError(t, err)
	require.Equal(t, "360 for 42", taken)
	taken, err = crustertest.Run(t, Taxed, order, crustertest.Unpatched("tax"))
	require.NoError(t, err)
	require.Equal(t, "300 for 42", taken)
}
