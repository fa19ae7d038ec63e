package execution

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestDrawnLivesCover: each kind of event, of op and of life is drawn.
func TestDrawnLivesCover(t *testing.T) {
	t.Parallel()
	drawn := map[string]int{}
	for seed := range uint64(500) {
		l := drawLife(seed)
		for _, event := range l.events {
			drawn["event "+strings.Fields(event)[0]]++
		}
		for _, thread := range l.code {
			for _, s := range thread {
				for _, c := range s {
					drawn["op "+c.kind]++
				}
			}
		}
		for name, is := range map[string]bool{
			"evicting":    l.evicting,
			"hibernating": l.hibernating,
			"leaving":     l.leaving,
			"hasty":       l.hasty,
			"sql":         l.sql,
			"renewals":    l.renewals > 0,
			"picky":       l.picky,
			"cramped":     l.cramped && l.places == 2,
			"slow":        l.slow,
		} {
			if is {
				drawn["life "+name]++
			}
		}
	}
	for _, event := range []string{
		"advance", "crash", "delete", "drain", "evict", "fail", "flood", "fork", "interrupt", "loads-fail", "move",
		"panic", "purge", "query", "resume",
		"settle", "signal", "start-over", "store", "sweep", "terminate", "terminate-child", "unheard", "update",
	} {
		require.Positive(t, drawn["event "+event], event)
	}
	for _, kind := range []string{
		abi.OpActivity, abi.OpCall, abi.OpDeferred, abi.OpEntityCall, abi.OpEntitySend, abi.OpInterrupt,
		abi.OpInterrupted, abi.OpLock, abi.OpPatched,
		abi.OpPoll, abi.OpReceive, abi.OpResolve, abi.OpSend, abi.OpSignal, abi.OpSleep, abi.OpUnlock, abi.OpUpdate,
	} {
		require.Positive(t, drawn["op "+kind], kind)
	}
	for _, life := range []string{
		"evicting", "hibernating", "leaving", "hasty", "sql", "renewals", "picky", "cramped", "slow",
	} {
		require.Positive(t, drawn["life "+life], life)
	}
}
