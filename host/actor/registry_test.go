package actor

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is an actor that keeps its messages.
type recorder struct {
	key      string
	received []string
	parked   int
	again    []string             // returned by the next Receive
	onPark   func() []string      // returned by Park
	gate     func(batch []string) // called in Receive
	keep     bool                 // Release refuses

	forgotten bool
}

func (a *recorder) Receive(batch []string) []string {
	if a.gate != nil {
		a.gate(batch)
	}
	a.received = append(a.received, batch...)
	again := a.again
	a.again = nil
	return again
}

func (a *recorder) Park() []string {
	a.parked++
	if a.onPark != nil {
		return a.onPark()
	}
	return nil
}

func (a *recorder) Release() bool { return !a.keep }

func (a *recorder) Forgotten() { a.forgotten = true }

// bundle is a registry of recorders. All recorders ever made are kept by key, in order.
type bundle struct {
	*Registry[string, string, *recorder]
	tasks TaskGroup
	made  map[string][]*recorder
	sizes []int
}

func setup(t *testing.T, prepare func(*recorder)) *bundle {
	b := &bundle{made: map[string][]*recorder{}}
	b.Registry = NewRegistry(NewFairQueue[string](&b.tasks, 100), func(key string) *recorder {
		a := &recorder{key: key}
		if prepare != nil {
			prepare(a)
		}
		b.made[key] = append(b.made[key], a)
		return a
	}, func(n int) { b.sizes = append(b.sizes, n) })
	t.Cleanup(func() { <-b.tasks.Idle() })
	return b
}

func TestPostMakesAndForgetsTheActor(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	require.False(t, b.Has("a"))
	b.Post("a", "1")
	<-b.tasks.Idle()
	require.Equal(t, []string{"1"}, b.made["a"][0].received)
	require.False(t, b.Has("a"), "it has nothing to stay for")
	b.Post("a", "2")
	<-b.tasks.Idle()
	require.Len(t, b.made["a"], 2, "another actor under the same key")
	require.True(t, b.made["a"][0].forgotten)
	require.Equal(t, []int{1, 0, 1, 0}, b.sizes)
	require.Empty(t, b.boxes)
}

func TestMessagesThatArriveMeanwhileAreReceivedNext(t *testing.T) {
	t.Parallel()
	entered, proceed := make(chan struct{}), make(chan struct{})
	var batches [][]string
	b := setup(t, func(a *recorder) {
		a.gate = func(batch []string) {
			batches = append(batches, batch)
			entered <- struct{}{}
			<-proceed
		}
	})
	b.Post("a", "1")
	<-entered
	b.Post("a", "2")
	b.Post("a", "3")
	proceed <- struct{}{}
	<-entered
	proceed <- struct{}{}
	<-b.tasks.Idle()
	require.Equal(t, [][]string{{"1"}, {"2", "3"}}, batches)
	require.Equal(t, 1, b.made["a"][0].parked, "it parks once, when the box is empty")
}

func TestReceivedAgainComesFirst(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, func(a *recorder) {
		a.again = []string{"1 again"}
		first := true
		a.gate = func([]string) {
			if first {
				first = false
				b.Post("a", "2")
			}
		}
	})
	b.Post("a", "1")
	<-b.tasks.Idle()
	require.Equal(t, []string{"1", "1 again", "2"}, b.made["a"][0].received)
}

func TestParkMayFindSomethingToDo(t *testing.T) {
	t.Parallel()
	b := setup(t, func(a *recorder) {
		a.onPark = func() []string {
			if a.parked == 1 {
				return []string{"look again"}
			}
			return nil
		}
	})
	b.Post("a", "1")
	<-b.tasks.Idle()
	require.Equal(t, []string{"1", "look again"}, b.made["a"][0].received)
	require.Equal(t, 2, b.made["a"][0].parked)
}

// TestMessageThatArrivesWhileParking posts to an actor that is about to park. It must not be lost, nor received by a
// second goroutine.
func TestMessageThatArrivesWhileParking(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, func(a *recorder) {
		a.onPark = func() []string {
			if a.parked == 1 {
				b.Post("a", "2")
			}
			return nil
		}
	})
	b.Post("a", "1")
	<-b.tasks.Idle()
	require.Len(t, b.made["a"], 1)
	require.Equal(t, []string{"1", "2"}, b.made["a"][0].received)
	require.Equal(t, 2, b.made["a"][0].parked)
	require.Empty(t, b.boxes)
}

func TestHeldActorStays(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.Hold("a")
	require.Zero(t, b.Len(), "a hold makes no actor")
	b.Post("a", "1")
	<-b.tasks.Idle()
	require.True(t, b.Has("a"))
	b.Hold("a")
	b.Unhold("a")
	require.True(t, b.Has("a"), "it is still held once")
	b.Unhold("a", "2")
	<-b.tasks.Idle()
	require.False(t, b.Has("a"))
	require.Len(t, b.made["a"], 1, "one actor received both")
	require.Equal(t, []string{"1", "2"}, b.made["a"][0].received)

	b.Hold("b")
	b.Unhold("b")
	require.Empty(t, b.boxes, "nothing is kept of a hold that nothing came of")

	b.Hold("c")
	b.Post("c", "1")
	<-b.tasks.Idle()
	b.Unhold("c")
	<-b.tasks.Idle()
	require.Empty(t, b.boxes, "the end of the hold has it forgotten")
}

func TestPostIfAbsent(t *testing.T) {
	t.Parallel()
	b := setup(t, func(a *recorder) { a.keep = true })
	b.PostIfAbsent("a", "1")
	<-b.tasks.Idle()
	b.PostIfAbsent("a", "2")
	<-b.tasks.Idle()
	require.Equal(t, []string{"1"}, b.made["a"][0].received)

	b.Hold("b")
	b.PostIfAbsent("b", "recovered")
	b.Unhold("b", "started")
	<-b.tasks.Idle()
	require.Equal(t, []string{"started"}, b.made["b"][0].received, "it was about to come")

	b.Hold("c")
	b.Hold("c")
	b.PostIfAbsent("c", "recovered")
	b.Unhold("c")
	<-b.tasks.Idle()
	require.Empty(t, b.made["c"], "the other hold may bring it")
	b.Unhold("c")
	<-b.tasks.Idle()
	require.Equal(t, []string{"recovered"}, b.made["c"][0].received, "it did not come")

	b.Hold("d")
	b.PostIfAbsent("d", "recovered")
	b.Post("d", "interrupt")
	<-b.tasks.Idle()
	b.Unhold("d")
	<-b.tasks.Idle()
	require.Equal(t, []string{"interrupt"}, b.made["d"][0].received, "it came by another way")
}

func TestWhileParked(t *testing.T) {
	t.Parallel()
	entered, proceed := make(chan struct{}), make(chan struct{})
	b := setup(t, func(a *recorder) {
		a.keep = true
		a.gate = func([]string) { entered <- struct{}{}; <-proceed }
	})
	called := 0
	look := func(*recorder) (string, bool) { called++; return "evicted", true }
	b.WhileParked("a", look)
	require.Zero(t, called, "it is not in memory")
	b.Post("a", "1")
	<-entered
	b.WhileParked("a", look)
	require.Zero(t, called, "it is at work")
	proceed <- struct{}{}
	<-b.tasks.Idle()
	b.WhileParked("a", look)
	require.Equal(t, 1, called)
	<-entered
	proceed <- struct{}{}
	<-b.tasks.Idle()
	require.Equal(t, []string{"1", "evicted"}, b.made["a"][0].received)
	var seen []string
	b.Each(func(a *recorder) { seen = append(seen, a.key) })
	require.Equal(t, []string{"a"}, seen)
}

func TestClosedGroupRunsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.tasks.Close()
	b.Post("a", "1")
	<-b.tasks.Idle()
	require.Empty(t, b.made["a"], "nothing has received")
	require.True(t, b.Has("a"))
}

// TestActorsWaitForAPlaceAsData has more actors woken than may work at the same time. An actor that waits for its place
// is not at work: its resources can be taken from it.
func TestActorsWaitForAPlaceAsData(t *testing.T) {
	t.Parallel()
	entered, proceed := make(chan struct{}), make(chan struct{})
	b := setup(t, func(a *recorder) {
		a.keep = true
		if a.key == "busy" {
			a.gate = func([]string) { entered <- struct{}{}; <-proceed }
		}
	})
	b.places.places = 1
	b.Post("a", "1")
	<-b.tasks.Idle()
	b.Post("busy", "1")
	<-entered
	b.Post("a", "2")
	b.Post("new", "1")
	require.Equal(t, 3, b.Len())
	require.Empty(t, b.made["new"], "it is made when it works")
	called := 0
	look := func(*recorder) (string, bool) { called++; return "evicted", true }
	b.WhileParked("a", look)
	b.WhileParked("busy", look)
	b.WhileParked("new", look)
	require.Equal(t, 1, called)
	b.PostIfAbsent("new", "2")
	proceed <- struct{}{}
	<-b.tasks.Idle()
	require.Equal(t, []string{"1", "2", "evicted"}, b.made["a"][0].received)
	require.Equal(t, []string{"1"}, b.made["new"][0].received)
}

// counter counts its messages, and checks that it is never entered twice.
type counter struct {
	inside   *atomic.Int32
	received *atomic.Int64
}

func (c *counter) Receive(batch []int) []int {
	if c.inside.Add(1) != 1 {
		panic("two goroutines are inside one actor")
	}
	defer c.inside.Add(-1)
	c.received.Add(int64(len(batch)))
	return nil
}

func (*counter) Park() []int   { return nil }
func (*counter) Release() bool { return true }
func (*counter) Forgotten()    {}

// TestRegistryHammer posts, holds and looks from many sides. Every message is received once, whichever of the actors
// under a key receives it.
func TestRegistryHammer(t *testing.T) {
	t.Parallel()
	var tasks TaskGroup
	var received atomic.Int64
	inside := [3]atomic.Int32{}
	reg := NewRegistry(
		NewFairQueue[int](&tasks, 2), func(key int) *counter { return &counter{&inside[key], &received} }, func(int) {},
	)
	var all sync.WaitGroup
	const senders, each = 8, 400
	for s := range senders {
		all.Go(func() {
			for n := range each {
				key := (s + n) % 3
				switch n % 4 {
				case 0:
					reg.Hold(key)
					reg.Unhold(key, n)
				case 1:
					reg.WhileParked(key, func(*counter) (int, bool) { return 0, false })
					reg.Post(key, n)
				default:
					reg.Post(key, n)
				}
			}
		})
	}
	all.Wait()
	<-tasks.Idle()
	require.EqualValues(t, senders*each, received.Load())
	require.Zero(t, reg.Len())
	require.Empty(t, reg.boxes)
}

// TestBorrow has a caller work on an actor that is parked, and on no other.
func TestBorrow(t *testing.T) {
	t.Parallel()
	b := setup(t, func(a *recorder) { a.keep = true })
	refused := func(*recorder) []string {
		t.Error("it was borrowed")
		return nil
	}
	require.False(t, b.Borrow("a", refused), "there is none")
	b.Post("a", "1")
	<-b.tasks.Idle()
	a := b.made["a"][0]
	require.True(t, b.Borrow("a", func(borrowed *recorder) []string {
		require.Same(t, a, borrowed)
		require.False(t, b.Borrow("a", refused), "it is at work")
		b.WhileParked("a", func(*recorder) (string, bool) { t.Error("it is not parked"); return "", false })
		b.Post("a", "3")
		require.Equal(t, []string{"1"}, a.received, "what is posted meanwhile waits")
		return []string{"2"}
	}))
	<-b.tasks.Idle()
	require.Equal(t, []string{"1", "2", "3"}, a.received)
	require.Equal(t, 2, a.parked, "it parks again")

	a.gate = func([]string) { require.False(t, b.Borrow("a", refused), "it is at work") }
	b.Post("a", "4")
	<-b.tasks.Idle()
	require.Panics(t, func() { b.Borrow("a", func(*recorder) []string { panic("on purpose") }) })
	<-b.tasks.Idle()
	a.gate = nil
	b.Post("a", "5")
	<-b.tasks.Idle()
	require.Equal(t, []string{"1", "2", "3", "4", "5"}, a.received)
}

// TestBorrowOfAnActorThatWaitsForAPlace leaves its messages where they are.
func TestBorrowOfAnActorThatWaitsForAPlace(t *testing.T) {
	t.Parallel()
	var tasks TaskGroup
	a := &recorder{keep: true}
	r := NewRegistry(NewFairQueue[string](&tasks, 1), func(string) *recorder { return a }, func(int) {})
	r.Post("a", "1")
	<-tasks.Idle()
	started, proceed := make(chan struct{}), make(chan struct{})
	r.places.Go("other", func() { close(started); <-proceed })
	<-started
	r.Post("a", "2")
	require.False(t, r.Borrow("a", func(*recorder) []string { return nil }))
	close(proceed)
	<-tasks.Idle()
	require.Equal(t, []string{"1", "2"}, a.received)
}

// TestBorrowHammer has many callers borrow one actor while others post to it: it is never in two hands, and no message
// is lost.
func TestBorrowHammer(t *testing.T) {
	t.Parallel()
	const callers, each = 8, 300
	var inside, borrowed atomic.Int64
	b := setup(t, func(a *recorder) {
		a.keep = true
		a.gate = func([]string) {
			if inside.Add(1) != 1 {
				t.Error("it is in two hands")
			}
			inside.Add(-1)
		}
	})
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				b.Post("a", "posted")
				b.Borrow("a", func(a *recorder) []string {
					a.gate(nil)
					borrowed.Add(1)
					return []string{"again"}
				})
			}
		})
	}
	all.Wait()
	<-b.tasks.Idle()
	require.Len(t, b.made["a"][0].received, callers*each+int(borrowed.Load()))
}

func TestQueued(t *testing.T) {
	t.Parallel()
	var b *bundle
	var queued []string
	b = setup(t, func(a *recorder) {
		a.gate = func(batch []string) {
			if batch[0] == "1" {
				b.Post("a", "2")
				b.Post("a", "3")
				queued = b.Queued("a")
			}
		}
	})
	require.Empty(t, b.Queued("a"))
	b.Post("a", "1")
	<-b.tasks.Idle()
	require.Equal(t, []string{"2", "3"}, queued)
	require.Empty(t, b.Queued("a"))
}

// TestPostWith posts, replaces or drops a message by the messages that wait already.
func TestPostWith(t *testing.T) {
	t.Parallel()
	entered, goOn := make(chan struct{}), make(chan struct{})
	b := setup(t, func(a *recorder) {
		a.gate = func([]string) {
			entered <- struct{}{}
			<-goOn
		}
	})
	b.PostWith("a", func(queue []string, present bool) (string, bool) {
		require.Empty(t, queue)
		require.False(t, present)
		return "dropped", false
	})
	require.Zero(t, b.Len())
	require.Empty(t, b.boxes)
	b.PostWith("a", func([]string, bool) (string, bool) { return "1", true })
	<-entered
	b.Post("a", "2")
	b.PostWith("a", func(queue []string, present bool) (string, bool) {
		require.Equal(t, []string{"2"}, queue)
		require.True(t, present)
		queue[0] = "2 and 3"
		return "", false
	})
	goOn <- struct{}{}
	<-entered
	goOn <- struct{}{}
	<-b.tasks.Idle()
	require.Equal(t, []string{"1", "2 and 3"}, b.made["a"][0].received)
}
