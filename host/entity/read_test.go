package entity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
)

// TestReadsRunBesideACommit has a read and a second one answered while a commit is under way. They
// see acknowledged writes, and no others.
func TestReadsRunBesideACommit(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
		f.commits.taken()
		began := f.commits.hold()
		change := f.goCall(t.Context(), add("a", 10))
		<-began
		for range 3 {
			require.EqualValues(t, 1, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
		}
		f.commits.release()
		r := <-change
		require.EqualValues(t, 11, f.value(r.outcome, r.err))
		require.EqualValues(t, 11, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
		require.Len(t, f.commits.taken(), 1, "reads commit nothing")
	})
}

// TestReadBehindAMessageReadEarly: the inbox is read between the commit of a message and its
// acknowledgement. A read that the sender makes behind it sees its effect nonetheless.
func TestReadBehindAMessageReadEarly(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
		f.hold()
		pass := f.x.workers.commits.Fault
		f.x.workers.commits.Fault = func(point string) {
			pass(point)
			if point == faultpoint.EntityReceiveAfter {
				f.x.actors.Post(refTo("a").ID(), mail{})
				<-f.began // the message is in memory, and at work
			}
		}
		require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 10)))
		get := f.goCall(t.Context(), operation("a", "get"))
		require.Eventually(t, func() bool { return f.waits("a") == 1 || len(f.began) > 0 }, testTimeout, testTick)
		require.Empty(t, f.began, "the read waits for the message")
		f.release()
		r := <-get
		require.EqualValues(t, 11, f.value(r.outcome, r.err))
	})
}

// TestReadAfterWrite is linearizable: a read that begins after a write was acknowledged sees it, whatever else happens.
func TestReadAfterWrite(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		stop, others := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(others)
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = f.x.Caller.Call(t.Context(), operation("a", "get"))
				}
			}
		}()
		for range 300 {
			written := f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
			require.Equal(t, written, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
		}
		close(stop)
		<-others
	})
}

// TestReadsRunTogether has as many at the same time as the type says, and no more.
func TestReadsRunTogether(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.hold()
		var reads []<-chan result
		for range 5 {
			reads = append(reads, f.goCall(t.Context(), operation("a", "get")))
		}
		<-f.began
		<-f.began
		f.queuedCalls("a", 3)
		require.Empty(t, f.began)
		f.release()
		for _, call := range reads {
			r := <-call
			require.Zero(t, f.value(r.outcome, r.err))
		}
		_, there := f.stored("a")
		require.False(t, there, "a read makes no entity")
	})
}

// TestReadAfterSend: a read sees the earlier messages of its sender.
func TestReadAfterSend(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		for i := range 50 {
			require.NoError(t, f.x.Sender.Send(t.Context(), add("a", 1)))
			require.EqualValues(t, i+1, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
		}
	})
}

// TestReadOfAnOlderState does not make the entity go on from it: the read began before a commit
// after which the host forgot its state.
func TestReadOfAnOlderState(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
		f.crash()
		f.heldOnly = "get"
		f.hold()
		read := f.goCall(t.Context(), operation("a", "get"))
		<-f.began
		f.panicAt = "entity.after-commit"
		_, err := f.x.Caller.Call(t.Context(), add("a", 10))
		require.Equal(t, abi.CodeInternal, abi.CodeOf(err))
		f.release()
		r := <-read
		require.EqualValues(t, 1, f.value(r.outcome, r.err), "it began before")
		require.EqualValues(t, 111, f.value(f.x.Caller.Call(t.Context(), add("a", 100))))
	})
}

// TestReadThatSends is refused: nothing of it is durable.
func TestReadThatSends(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		for i := range f.types["Counter"].Operations {
			f.types["Counter"].Operations[i].ReadOnly = true
		}
		req := operation("a", "sends")
		req.Input = abi.MustMarshal(&sendsInput{
			Sent: []abi.EntityMessage{{Entity: "Counter/b", Operation: "add", Input: abi.MustMarshal(1)}},
		})
		o, err := f.x.Caller.Call(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, abi.CodeOperationCrashed, o.Error.Code)
		require.ErrorContains(t, o.Error, "read-only")
		o, err = f.x.Caller.Call(t.Context(), operation("a", "crash"))
		require.NoError(t, err)
		require.Equal(t, abi.CodeOperationCrashed, o.Error.Code)
	})
}
