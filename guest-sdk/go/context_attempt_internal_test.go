package cruster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAttemptContext: the context of an attempt ends at its deadline, or with the attempt, also if no one waits for it.
func TestAttemptContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := func() *attemptContext { return newAttemptContext(nil, time.Now().Add(time.Minute).UnixNano()) }

		late := at()
		deadline, has := late.Deadline()
		require.True(t, has)
		require.Equal(t, time.Minute, time.Until(deadline))
		require.NoError(t, late.Err())
		require.Nil(t, late.waited, "no one waits for its end")
		waited := at()
		derived, cancel := context.WithTimeout(waited, time.Hour)
		defer cancel()
		time.Sleep(time.Minute - time.Nanosecond)
		require.NoError(t, late.Err())
		require.NoError(t, derived.Err())
		time.Sleep(time.Nanosecond)
		require.ErrorIs(t, late.Err(), context.DeadlineExceeded)
		<-waited.Done()
		<-derived.Done()
		<-late.Done()
		for _, c := range []context.Context{late, waited, derived} {
			require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
		}

		alone, ended := at(), at()
		derived, cancel = context.WithCancel(ended)
		defer cancel()
		alone.end()
		ended.end()
		<-derived.Done()
		require.ErrorIs(t, alone.Err(), context.Canceled)
		<-alone.Done()
		for _, c := range []context.Context{alone, ended, derived} {
			require.ErrorIs(t, c.Err(), context.Canceled)
		}

		// The first error stays, whatever comes later.
		late = at()
		time.Sleep(time.Hour)
		require.ErrorIs(t, late.Err(), context.DeadlineExceeded)
		late.end()
		<-late.Done()
		require.ErrorIs(t, late.Err(), context.DeadlineExceeded)
		require.ErrorIs(t, context.Cause(late), context.DeadlineExceeded)
		early := at()
		early.end()
		require.ErrorIs(t, early.Err(), context.Canceled)
		time.Sleep(time.Hour)
		called := make(chan struct{})
		context.AfterFunc(early, func() { close(called) })
		<-called
		require.ErrorIs(t, early.Err(), context.Canceled)

		open := newAttemptContext(nil, 0)
		_, has = open.Deadline()
		require.False(t, has)
		require.NoError(t, open.Err())
		done := open.Done()
		open.end()
		<-done
		require.ErrorIs(t, open.Err(), context.Canceled)
	})
}
