package entity

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
)

// TestALoopInABatchIsFoundByTheReport: it is not run again, the operations in front of it are
// performed before it fails, and the ones behind it are another batch. An operation that crashes is
// run again by itself.
func TestALoopInABatchIsFoundByTheReport(t *testing.T) {
	t.Parallel()
	for poison, want := range map[string][]string{
		"spin":  {"add add spin add add", "add add", "add add"},
		"crash": {"add add crash add add", "add add", "crash", "add add"},
	} {
		t.Run(poison, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, kind string) {
				f := newFixture(t, kind)
				f.reports = true
				f.hold()
				first := f.goCall(t.Context(), add("a", 1))
				<-f.began
				var calls []<-chan result
				for i, name := range []string{"add", "add", poison, "add", "add"} {
					req := add("a", 1)
					if name == poison {
						req = operation("a", poison)
					}
					calls = append(calls, f.goCall(t.Context(), by(req, origin(byte(i+1)))))
					f.queuedCalls("a", i+1)
				}
				f.release()
				<-first
				for i, call := range calls {
					r := <-call
					require.NoError(t, r.err)
					if i == 2 {
						require.Equal(t, abi.CodeOperationCrashed, r.outcome.Error.Code)
						continue
					}
					require.Equal(t, []int64{2, 3, 0, 4, 5}[i], f.value(r.outcome, r.err))
				}
				n, _ := f.stored("a")
				require.EqualValues(t, 5, n)
				f.mu.Lock()
				defer f.mu.Unlock()
				require.Equal(t, append([]string{"add"}, want...), f.invocations)
			})
		})
	}
}

// TestAReportThatIsLateBlamesNoOne: an operation that had only a part of a limit is run once more, first of its
// batch.
func TestAReportThatIsLateBlamesNoOne(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.reports, f.partly = true, true
		f.hold()
		first := f.goCall(t.Context(), add("a", 1))
		<-f.began
		var calls []<-chan result
		for i, req := range []call.Request{add("a", 1), operation("a", "spin"), add("a", 1)} {
			calls = append(calls, f.goCall(t.Context(), by(req, origin(byte(i+1)))))
			f.queuedCalls("a", i+1)
		}
		f.release()
		<-first
		for i, call := range calls {
			r := <-call
			require.NoError(t, r.err)
			require.Equal(t, i == 1, r.outcome.Error != nil)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		spins := slices.DeleteFunc(f.invocations, func(names string) bool { return !strings.Contains(names, "spin") })
		require.Equal(t, []string{"add spin add", "spin add"}, spins)
	})
}

// TestAReportThatIsNotTrueCostsTwoInvocations: a guest that has not kept its report has its
// operations performed one by one, and not with one less each time.
func TestAReportThatIsNotTrueCostsTwoInvocations(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.lies = true
		f.hold()
		first := f.goCall(t.Context(), add("a", 1))
		<-f.began
		var calls []<-chan result
		for i := range 5 {
			calls = append(calls, f.goCall(t.Context(), by(add("a", 1), origin(byte(i+1)))))
			f.queuedCalls("a", i+1)
		}
		f.release()
		<-first
		for i, call := range calls {
			r := <-call
			require.NoError(t, r.err)
			require.EqualValues(t, i+2, f.value(r.outcome, r.err))
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Equal(
			t, []string{"add", "add add add add add", "add add add add", "add", "add", "add", "add", "add"},
			f.invocations,
		)
	})
}
