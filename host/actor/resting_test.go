package actor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// resting is an actor that wants to rest after its first batch, whose messages it receives again.
type resting struct {
	recorder
	rest time.Duration
}

func (a *resting) Receive(batch []string) []string {
	a.recorder.Receive(batch)
	if a.rest > 0 {
		return batch
	}
	return nil
}

func (a *resting) Rests() time.Duration {
	rest := a.rest
	a.rest = 0
	return rest
}

// A resting actor leaves its place to others, and then receives its old messages before new ones.
func TestOneThatRestsLeavesItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tasks TaskGroup
		defer tasks.Close()
		actors := map[string]*resting{"tired": {rest: time.Minute}, "other": {}}
		r := NewRegistry(
			NewFairQueue[string](&tasks, 1), func(key string) *resting { return actors[key] }, func(int) {},
		)
		r.RestBy(func(d time.Duration, f func()) { time.AfterFunc(d, f) })
		r.Post("tired", "first")
		synctest.Wait()
		r.Post("tired", "second")
		r.Post("other", "meanwhile")
		synctest.Wait()
		require.Equal(t, []string{"first"}, actors["tired"].received)
		require.Equal(t, []string{"meanwhile"}, actors["other"].received)
		require.True(t, r.Has("tired"))
		require.False(t, isClosed(tasks.Idle()), "it has work to do")
		require.False(t, r.Borrow("tired", func(*resting) []string { return nil }), "it is left alone")

		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"first", "first", "second"}, actors["tired"].received)
		require.True(t, actors["tired"].forgotten)
		require.False(t, r.Has("tired"))
		require.True(t, isClosed(tasks.Idle()))
	})
}
