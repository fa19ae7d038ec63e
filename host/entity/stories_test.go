package entity

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/faultpoint"
)

// TestRandomMessages has clients, workflows and entities send messages to entities and call them,
// while operations crash, operators retry and drop parked messages, workflows lock entities, the
// store fails, and hosts end. All of it is drawn from a seed, and time is virtual. Whatever
// happens, in the end
//
//   - acknowledged messages are performed exactly once, or parked, or dropped by an operator;
//   - nothing is performed twice, and nothing that was not sent;
//   - dropped messages, and calls whose caller was told that they failed, are not performed;
//   - each workflow that a performed operation has asked for is started, or its start is parked or was dropped, and
//     no other is;
//   - messages of one sender to one entity are performed in order, except for ones parked in between;
//   - while a workflow holds an entity no operation of anyone else is performed there;
//   - all that can be performed is, without being sent again.
//
// CRUSTER_MESSAGES is how many stories there are on a store, and CRUSTER_SEED the seed of the first. A story
// that goes wrong is made shorter for as long as it still does.
func TestRandomMessages(t *testing.T) {
	t.Parallel()
	n, seed := number(t, "CRUSTER_MESSAGES", 3), number(t, "CRUSTER_SEED", rand.Uint64())
	eachStore(t, func(t *testing.T, kind string) {
		seen := tally{}
		for i := range n {
			drawStory(seed+i).verify(t, kind, seen)
		}
		t.Logf("%v", seen)
	})
}

// TestStoriesCover: each kind of event, and of message, is drawn.
func TestStoriesCover(t *testing.T) {
	t.Parallel()
	drawn := tally{}
	for seed := range uint64(200) {
		s := drawStory(seed)
		for _, event := range s.events {
			drawn[strings.Fields(event)[0]]++
		}
		for _, client := range s.clients {
			for _, r := range client {
				drawn["call"] += one(r.call)
				drawn["send"] += one(!r.call)
				drawn["once"] += one(!r.again)
				drawn["crash"] += one(r.note.Crash)
				drawn["relay"] += one(r.note.Relay != "")
				drawn["start"] += one(r.note.Start)
			}
		}
	}
	for _, kind := range []string{
		"advance", "break", "crash", "die", "drop", "lock", "panic", "repair", "retry", "starts", "store", "unlock",
		"call", "send", "once", "relay", "start",
	} {
		require.Positive(t, drawn[kind], kind)
	}
}

// tally counts events.
type tally map[string]int

func one(is bool) int { return map[bool]int{true: 1}[is] }

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// storyKeys are the keys of the entities.
var storyKeys = []string{"a", "b"}

// story is a list of requests for each client, in order, and of the faults meanwhile.
type story struct {
	seed    uint64
	clients [][]clientRequest
	events  []string
}

// clientRequest is a message or a call of a client.
type clientRequest struct {
	to    string
	call  bool // its client waits for the outcome
	again bool // its client repeats it until it is acknowledged
	pause time.Duration
	note  note
}

// note is the input of the only operation: the note to add to the entity's state.
type note struct {
	From  string // the sender
	N     int    // ascends for each sender
	Crash bool   // the operation crashes while the code is broken
	Relay string // the entity that it sends another note to
	Start bool   // it has a workflow started
}

func (n note) id() string { return fmt.Sprint(n.From, " ", n.N) }

func drawStory(seed uint64) story {
	random := rand.New(rand.NewPCG(seed, 0))
	s := story{seed: seed}
	for client := range 1 + random.IntN(3) {
		var requests []clientRequest
		for n := range 3 + random.IntN(12) {
			r := clientRequest{to: storyKeys[random.IntN(2)], call: random.IntN(4) == 0, again: random.IntN(4) > 0}
			r.pause = time.Duration(random.IntN(3)*random.IntN(2000)) * time.Millisecond
			r.note = note{From: fmt.Sprint("client ", client), N: n, Crash: random.IntN(3) == 0}
			if random.IntN(4) == 0 {
				r.note.Relay = storyKeys[random.IntN(2)]
			}
			r.note.Start = random.IntN(5) == 0
			requests = append(requests, r)
		}
		s.clients = append(s.clients, requests)
	}
	if random.IntN(3) > 0 {
		s.events = append(s.events, "break")
	}
	for range 4 + random.IntN(20) {
		s.events = append(s.events, drawEvent(random))
	}
	return s
}

// storyPoints are the fault points that a host passes in stories.
var storyPoints = []string{
	faultpoint.EntityBeforeCommit, faultpoint.EntityAfterCommit, faultpoint.EntityReceiveBefore,
	faultpoint.EntityReceiveAfter,
	faultpoint.LockBeforeCommit, faultpoint.LockAfterCommit,
}

func drawEvent(random *rand.Rand) string {
	key, point := storyKeys[random.IntN(2)], storyPoints[random.IntN(len(storyPoints))]
	switch random.IntN(16) {
	case 0:
		return "crash"
	case 1:
		return "die " + point
	case 2:
		return "panic " + point
	case 3, 4:
		mishaps := []string{"ok", "fail", "lose", "drop"}
		text := "store"
		for range 1 + random.IntN(5) {
			text += " " + mishaps[random.IntN(len(mishaps))]
		}
		return text
	case 5:
		return "break"
	case 6:
		return "repair"
	case 7, 8:
		return fmt.Sprint("retry ", key, " ", random.IntN(2))
	case 9:
		return fmt.Sprint("drop ", key, " ", random.IntN(2))
	case 10, 11:
		return "lock " + key
	case 12:
		return "unlock " + key
	case 13:
		return "starts " + []string{"accepted", "put-off", "misfit", "refused"}[random.IntN(4)]
	default:
		return fmt.Sprintf("advance %dms", random.IntN(4000))
	}
}

// verify runs the story, and fails if anything goes wrong: with the shortest story that still does.
func (s story) verify(t *testing.T, kind string, seen tally) {
	faults := s.happen(t, kind, seen)
	if len(faults) == 0 {
		return
	}
	t.Logf("seed %d: %q; it is made shorter", s.seed, faults)
	for shorter := true; shorter; {
		shorter = false
		for n := range s.events {
			less := s
			less.events = slices.Delete(slices.Clone(s.events), n, n+1)
			if again := less.happen(t, kind, tally{}); len(again) > 0 {
				s, faults, shorter = less, again, true
				break
			}
		}
	}
	require.Fail(t, "messages went wrong", "CRUSTER_SEED=%d CRUSTER_MESSAGES=1\n%+v\nevents:\n  %s\n%s",
		s.seed, s.clients, strings.Join(s.events, "\n  "), strings.Join(faults, "\n"))
}

// happen has the story happen on a store, and returns what went wrong.
func (s story) happen(t *testing.T, kind string, seen tally) (faults []string) {
	synctest.Test(t, func(t *testing.T) {
		w := newStoryWorld(t, kind)
		for _, requests := range s.clients {
			w.clients.Go(func() { w.send(requests) })
		}
		for _, event := range s.events {
			w.meet(event)
		}
		w.end()
		w.verify(seen)
		faults = w.faults
	})
	return faults
}
