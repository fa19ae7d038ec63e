package entity

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/journal"
)

// TestRefusedStartsAreCountedOneByOne: a workflow is not parked because another was refused before.
func TestRefusedStartsAreCountedOneByOne(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			refused := abi.Errorf(abi.CodeModuleNotFound, "the module is damaged")
			f.unstartable = map[string]error{"1": refused, "2": refused}
			start := func(key string) {
				_, err := f.x.Caller.Call(
					t.Context(), sends("a", sendsInput{Started: []abi.Call{{Workflow: "Pay", Key: key}}}),
				)
				require.NoError(t, err)
			}
			start("1")
			time.Sleep(20 * time.Second) // nine attempts
			synctest.Wait()
			require.Empty(t, f.parked("a"))
			start("2")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Len(t, f.parked("a"), 1)
			require.Len(t, f.waitingMail("a"), 1, "it was tried once")
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			found := f.parkedIn("a")
			require.Len(t, found, 2)
			for i := range found {
				require.Equal(t, parked.MaxAttempts, found[i].Attempts)
			}
		})
	})
}

// TestAttemptsOfStartsThatAreGone are forgotten once none is left: the answer to the commit that parked one may have
// been lost.
func TestAttemptsOfStartsThatAreGone(t *testing.T) {
	t.Parallel()
	s := starting{misfits: map[uint64]int{3: parked.MaxAttempts - 1}}
	s.end(nil, journal.ID{}, nil)
	require.Empty(t, s.misfits)
}
