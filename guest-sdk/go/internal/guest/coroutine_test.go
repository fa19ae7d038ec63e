package guest

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// spawning is a workflow whose three coroutines spawn one more each, and the trace that it leaves.
func spawning(trace *[]string) func(Scope, []byte) ([]byte, error) {
	note := func(what string) { *trace = append(*trace, what) }
	return func(s Scope, _ []byte) ([]byte, error) {
		var all []*Promise
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, s.Spawn(func(s Scope) (any, error) {
				note(name)
				_, err := s.Await("Await", s.Spawn(func(Scope) (any, error) {
					note(name + name)
					return nil, nil
				}))
				note(name + " ends")
				return nil, err
			}))
		}
		for _, p := range all {
			if _, err := s.Await("Await", p); err != nil {
				return nil, err
			}
		}
		return abi.Nil, nil
	}
}

// inOrder is that trace.
var inOrder = []string{"a", "b", "c", "aa", "bb", "cc", "a ends", "b ends", "c ends"}

func TestCoroutinesRunInTheOrderOfTheQueue(t *testing.T) {
	t.Parallel()
	var trace []string
	_, out := startWorkflow(t, &silentHost{}, spawning(&trace))
	require.Equal(t, abi.Nil, out.Value)
	require.Equal(t, inOrder, trace)
}

func TestCrashesBecomeTheOutcome(t *testing.T) {
	t.Parallel()
	for want, crash := range map[string]func(){
		"panic: kaboom":  func() { panic("kaboom") },
		"runtime.Goexit": runtime.Goexit,
	} {
		_, out := startWorkflow(t, &silentHost{}, func(Scope, []byte) ([]byte, error) {
			crash()
			return abi.Nil, nil
		})
		require.Equal(t, abi.CodeGuestTrap, out.Error.Code)
		require.Contains(t, out.Error.Message, want)
	}
}

func TestStalledCoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		r := setup(t, func(Scope, []byte) ([]byte, error) {
			<-never
			return abi.Nil, nil
		})
		ex, out := r.Start(
			&silentHost{}, abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w"},
			Options{RecoverPanics: true, StallLimit: time.Hour},
		)
		require.Equal(t, abi.CodeGuestDeadlock, out.Error.Code)
		require.Regexp(t, `^deadlock: every task waits and nothing is pending: `+
			`goroutine \d+, in .*guest\.TestStalledCoroutine\.func1\.1, waits \(chan receive\) at guest/coroutine_test\.go:\d+$`, out.Error.Message)
		close(never)
		<-ex.yield // the coroutine ends
	})
}
