package entity

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// storyWorld is the world outside of the entities of a story, and its observations of them.
type storyWorld struct {
	*fixture
	noted   *notedStore
	clients sync.WaitGroup
	holders map[string]*section // by key; the sections that lock it, or have it locked

	lock    sync.Mutex
	host    *Entities         // guarded by lock, like all below
	broken  bool              // operations that may crash do
	over    bool              // clients send no more
	told    map[string]string // the last answer to the sender of a note
	late    map[string]bool   // notes that crashed or were put back: others may have overtaken them
	dropped map[string]bool   // notes that an operator dropped, or false if they may be
	holds   map[string]string // the holder of an entity
	drops   int               // how many were dropped
	retried int               // and put back
	locked  int               // how often an entity was held
	faults  []string
}

// The answers to the sender of a note.
const (
	wasAcknowledged = "it was acknowledged"
	wasPerformed    = "it was performed"
	hasFailed       = "it has failed"
	wasDropped      = "an operator dropped it"
	nothing         = "nothing"
)

func storyRef(key string) target.Ref {
	return target.Ref{Namespace: "default", Type: "bank/Log", Key: key}
}

func newStoryWorld(t *testing.T, kind string) *storyWorld {
	noted := &notedStore{Store: openStore(t, kind), notes: map[journal.Origin]string{}}
	w := &storyWorld{
		fixture: newFixtureOver(t, noted),
		noted:   noted,
		holders: map[string]*section{},
		told:    map[string]string{},
		late:    map[string]bool{},
		dropped: map[string]bool{},
		holds:   map[string]string{},
	}
	w.types["Log"] = &abi.EntityInfo{
		Name: "Log", State: &abi.Schema{Type: abi.TypeAny}, Operations: []abi.OperationInfo{{Name: "note"}},
	}
	w.code = w.operate
	w.serve()
	return w
}

// serve has clients find the host that was booted last.
func (w *storyWorld) serve() {
	go w.x.ScanInboxes(w.life.Context())
	w.lock.Lock()
	defer w.lock.Unlock()
	w.host = w.x
}

func (w *storyWorld) wrong(format string, args ...any) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// operate is the code of the entities: the state is all notes, in order.
func (w *storyWorld) operate(t target.Target, body *abi.Operations) (*instance.Result, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	var notes []note
	if body.State != nil {
		if err := abi.Unmarshal(body.State, &notes); err != nil {
			return nil, err
		}
	}
	ran := &instance.Result{}
	for _, o := range body.Operations {
		var n note
		if err := abi.Unmarshal(o.Input, &n); err != nil {
			return nil, err
		}
		if holder := w.holds[t.Key]; holder != "" && holder != n.From {
			w.faults = append(w.faults, fmt.Sprintf("%s holds %s, and %q is performed", holder, t.Key, n.id()))
		}
		if n.Crash && w.broken {
			w.late[n.id()] = true
			return nil, abi.Errorf(abi.CodeGuestTrap, "index out of range")
		}
		reply := abi.OperationReply{Value: abi.Nil}
		if n.Relay != "" {
			input := abi.MustMarshal(relayed(t.Key, len(notes), n))
			reply.Sent = []abi.EntityMessage{{Entity: "Log/" + n.Relay, Operation: "note", Input: input}}
		}
		if n.Start {
			reply.Started = []abi.Call{{Workflow: "Pay", Key: n.id()}}
		}
		notes = append(notes, n)
		ran.Replies = append(ran.Replies, reply)
	}
	ran.State, ran.Version = abi.MustMarshal(notes), t.Type.StateVersion
	return ran, nil
}

// relayed is the note that an entity sends on account of its own nth.
func relayed(key string, n int, of note) note {
	return note{From: "entity " + key, N: n, Crash: of.Crash}
}

// notes are those of an entity, as they are durable.
func (w *storyWorld) notes(key string) (notes []note) {
	row, err := w.store.Entity(context.Background(), storyRef(key).ID())
	if err != nil {
		require.ErrorIs(w.t, err, journal.ErrNotFound)
		return nil
	}
	require.NoError(w.t, abi.Unmarshal(row.State, &notes))
	return notes
}

// attempt makes a request, which gives up after a while. The host may end in its middle.
func (w *storyWorld) attempt(request func(ctx context.Context, x *Entities) error) (err error) {
	w.lock.Lock()
	x := w.host
	w.lock.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = fmt.Errorf("the host has ended")
		defer func() { _ = recover() }() // as the API does
		err = request(ctx, x)
	}()
	<-done
	return err
}

func (w *storyWorld) isOver() bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.over
}

// send makes the requests of a client, one after the other.
func (w *storyWorld) send(requests []clientRequest) {
	for i, r := range requests {
		time.Sleep(r.pause)
		req := call.Request{Entity: storyRef(r.to), Operation: "note", Input: abi.MustMarshal(r.note)}
		if r.again {
			req.Origin = journal.NewOrigin()
		}
		told := w.request(r, req)
		for n := 0; told == nothing && r.again && !w.isOver(); n++ {
			time.Sleep(500 * time.Millisecond)
			req.Again = true
			told = w.request(r, req)
		}
		if told == nothing && r.again {
			w.wrong("client %s hears nothing, %d requests wait behind it", r.note.id(), len(requests)-i-1)
			return
		}
	}
}

// request makes a request once, and notes the answer to its sender.
func (w *storyWorld) request(r clientRequest, req call.Request) (told string) {
	told = wasAcknowledged
	err := w.attempt(func(ctx context.Context, x *Entities) error {
		if !r.call {
			return x.Sender.Send(ctx, req)
		}
		o, err := x.Caller.Call(ctx, req)
		switch {
		case err == nil && o.Error != nil:
			told = hasFailed
		case err == nil:
			told = wasPerformed
		}
		return err
	})
	switch {
	case abi.CodeOf(err) == abi.CodeDropped:
		told = wasDropped
	case err != nil:
		told = nothing
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.told[r.note.id()] = told
	return told
}

// meet has an event happen.
func (w *storyWorld) meet(event string) {
	words := strings.Fields(event)
	switch words[0] {
	case "advance":
		d, err := time.ParseDuration(words[1])
		require.NoError(w.t, err)
		time.Sleep(d)
	case "crash":
		w.restart()
	case "die":
		w.crashAt(words[1], make(chan struct{}))
	case "panic":
		w.mu.Lock()
		w.panicAt = words[1]
		w.mu.Unlock()
	case "store":
		w.commits.script(words[1:]...)
	case "break", "repair":
		w.lock.Lock()
		w.broken = words[0] == "break"
		w.lock.Unlock()
	case "starts":
		w.mu.Lock()
		w.startError = map[string]error{
			"put-off": abi.Errorf(abi.CodeOverloaded, "no room"),
			"misfit":  abi.Errorf(abi.CodeModuleNotFound, "the module is damaged"),
			"refused": abi.Errorf(abi.CodeUnknownWorkflow, "there is no workflow"),
		}[words[1]]
		w.mu.Unlock()
	case "retry", "drop":
		w.unpark(words[1], words[0] == "drop", words[2] == "0")
	case "lock":
		w.lockEntity(words[1])
	case "unlock":
		w.unlockEntity(words[1])
	}
	time.Sleep(time.Millisecond) // its immediate consequences happen
}

// restart ends the host, if it has not ended, and starts another.
func (w *storyWorld) restart() {
	w.crashAt("", nil)
	w.crash()
	w.serve()
}

// end lets everything end that is under way: first by itself.
func (w *storyWorld) end() {
	w.mu.Lock()
	w.panicAt = ""
	w.mu.Unlock()
	w.commits.script()
	w.meet("repair")
	w.meet("starts accepted")
	for _, key := range storyKeys {
		w.unlockEntity(key)
	}
	if w.life.Over() {
		w.restart()
	}
	w.crashAt("", nil)
	time.Sleep(5 * time.Minute)
	w.lock.Lock()
	w.over = true
	w.lock.Unlock()
	w.clients.Wait()
	time.Sleep(5 * time.Minute) // for their last messages
	for _, key := range storyKeys {
		if waiting := w.waiting(key); len(waiting) > 0 {
			w.wrong("messages of %s wait for nothing: %q", key, waiting)
		}
	}
	w.restart()
	for _, key := range storyKeys {
		w.unpark(key, false, false)
	}
	time.Sleep(5 * time.Minute)
}
