package crustertest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	h := crustertest.History{Execution: "d/W/k", Start: start}
	require.Empty(t, h.Steps())
	require.Zero(t, h.Duration())
	h.Events = []crustertest.Event{
		{Time: start, Type: crustertest.Issued, Op: 1, Kind: abi.OpInterrupted},
		{Time: start, Type: crustertest.Issued, Op: 2, Kind: abi.OpActivity, Name: "reserve"},
		{
			Time: start.Add(time.Second),
			Type: crustertest.Delivered,
			Op:   2,
			Err:  abi.Errorf(abi.CodeActivityFailed, "sold out"),
		},
		{Time: start.Add(time.Second), Type: crustertest.Issued, Op: 3, Kind: abi.OpSleep, Name: "2s"},
		{Time: start.Add(2 * time.Second), Type: crustertest.Canceled, Op: 3},
		{Time: start.Add(3 * time.Second), Type: crustertest.Delivered, Op: 1},
	}
	require.Equal(t, []string{"activity reserve", "sleep 2s"}, h.Steps())
	require.Equal(t, 3*time.Second, h.Duration())
	require.Equal(t, `d/W/k
0s           issued 1 interrupted
0s           issued 2 activity reserve
1s           delivered 2: CR-3001: sold out
1s           issued 3 sleep 2s
2s           canceled 3
3s           delivered 1
`, h.String())
}
