package actor

import (
	"slices"
	"sync"
	"time"
)

// Actor is a receiver of the messages of a [Registry]. The registry calls its methods one at a time.
type Actor[M any] interface {
	// Receive handles messages in order. It returns the messages to receive again, before any that arrived meanwhile.
	Receive(messages []M) (again []M)
	// Park is called when the box is empty, before the actor's goroutine ends. It may return messages to receive
	// instead.
	Park() (again []M)
	// Release is called after Park, with the registry's lock held: it must not block and must not call the registry. It
	// reports whether the actor may be forgotten.
	Release() bool
	// Forgotten is called when it was: it may take its time to let go of its resources. By then another actor may be
	// there under the same key.
	Forgotten()
}

// Resting is an actor that at times wants to be left alone for a while, after a failure. It waits as
// data, with all that is posted to it meanwhile: its place is for others, for whose work it may
// wait. It has work to do all the same, and its group is not idle.
type Resting interface {
	// Rests is asked after Receive and Park, and tells for how long, from now on; 0 means that it goes on.
	Rests() time.Duration
}

// Registry keeps the actors that are in memory, by key. An actor that has messages waits for a place among those at
// work, as data: a hundred thousand that are woken at the same moment are a hundred thousand boxes, not goroutines.
type Registry[K comparable, M any, A Actor[M]] struct {
	newActor func(K) A
	places   *FairQueue[K]
	resized  func(actors int)
	after    func(d time.Duration, f func())

	mu     sync.Mutex
	boxes  map[K]*box[M, A] // guarded by mu
	actors int              // guarded by mu; boxes that have an actor, or messages for one
}

// box is the queue of one actor. The registry's mu guards all its fields.
type box[M any, A Actor[M]] struct {
	present bool // there is an actor, or messages for one
	actor   A
	made    bool // there is an actor
	queue   []M
	active  bool // it is at work, waits for a place, or rests
	working bool // a goroutine is at work on it
	holds   int  // by users of the actor in memory
	absent  []M  // came by PostIfAbsent during a hold, while nothing was present
}

// NewRegistry makes a registry whose actors are made by newActor, with the registry's lock held, when they receive
// their first message, and work in places. Resized is told how many actors there are, with the registry's lock held.
func NewRegistry[K comparable, M any, A Actor[M]](
	places *FairQueue[K], newActor func(K) A, resized func(actors int),
) *Registry[K, M, A] {
	return &Registry[K, M, A]{newActor: newActor, places: places, resized: resized, boxes: map[K]*box[M, A]{}}
}

// RestBy gives actors that are [Resting] a clock: after calls f after a time. Without one they do not
// rest. It is called before anything is posted.
func (r *Registry[K, M, A]) RestBy(after func(d time.Duration, f func())) { r.after = after }

// Post puts a message into an actor's box. If the actor is not in memory it is made.
func (r *Registry[K, M, A]) Post(key K, m M) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.postLocked(key, r.boxLocked(key), m)
}

// PostWith posts what f returns, unless it returns false. F is told of the messages that the actor has not received
// yet, and may replace them; and whether there is an actor, or messages for one. It runs with the registry's lock held:
// it must not block and must not call the registry.
func (r *Registry[K, M, A]) PostWith(key K, f func(queue []M, present bool) (m M, post bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var queue []M
	b := r.boxes[key]
	if b != nil {
		queue = b.queue
	}
	if m, post := f(queue, b != nil && b.present); post {
		r.postLocked(key, r.boxLocked(key), m)
	}
}

// PostIfAbsent posts only if the actor is not in memory. An actor in memory needs no reason to look around. If the
// actor is held it may be about to come: the message waits for the end of the hold, and is dropped if the actor came by
// then.
func (r *Registry[K, M, A]) PostIfAbsent(key K, m M) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch b := r.boxLocked(key); {
	case b.present:
	case b.holds > 0:
		b.absent = append(b.absent, m)
	default:
		r.postLocked(key, b, m)
	}
}

// Queued are the messages that an actor has not received yet.
func (r *Registry[K, M, A]) Queued(key K) []M {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.boxes[key]; b != nil {
		return slices.Clone(b.queue)
	}
	return nil
}

// PostAll posts a message of its own to each actor in memory.
func (r *Registry[K, M, A]) PostAll(message func() M) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, b := range r.boxes {
		if b.present {
			r.postLocked(key, b, message())
		}
	}
}

// Has tells whether the actor is in memory.
func (r *Registry[K, M, A]) Has(key K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.boxes[key]
	return b != nil && b.present
}

// Get returns the actor, if it is in memory. It may be at work: the caller touches only its guarded fields.
func (r *Registry[K, M, A]) Get(key K) (actor A, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.boxes[key]; b != nil && b.made {
		return b.actor, true
	}
	return actor, false
}

// Len counts the actors in memory.
func (r *Registry[K, M, A]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actors
}

// Hold keeps an actor from being forgotten, if it is in memory now or comes there before the matching
// [Registry.Unhold]. It makes no actor. It reports whether the caller alone knows of the actor: it is not in memory,
// and not held by others.
func (r *Registry[K, M, A]) Hold(key K) (alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.boxLocked(key)
	b.holds++
	return b.holds == 1 && !b.present
}

// Unhold ends a Hold and posts messages at the same moment.
func (r *Registry[K, M, A]) Unhold(key K, messages ...M) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unholdLocked(key, r.boxes[key], messages)
}

func (r *Registry[K, M, A]) unholdLocked(key K, b *box[M, A], messages []M) {
	b.holds--
	if b.holds == 0 && !b.present && len(messages) == 0 {
		messages, b.absent = b.absent, nil
	}
	for _, m := range messages {
		r.postLocked(key, b, m)
	}
	switch {
	case b.holds > 0 || b.active:
	case !b.present:
		delete(r.boxes, key)
	default:
		r.activateLocked(key, b) // it parks again, and may be forgotten now
	}
}

// WhileParked calls f if there is an actor and it is not at work, and keeps it from working meanwhile. An actor that
// waits for a place is not at work. If f asks for it, the message it returns is posted. F runs with the registry's lock
// held: it must not block and must not call the registry.
func (r *Registry[K, M, A]) WhileParked(key K, f func(A) (m M, post bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.boxes[key]
	if b == nil || !b.made || b.working {
		return
	}
	if m, post := f(b.actor); post {
		r.postLocked(key, b, m)
	}
}

// Borrow has f work on an actor on the caller's goroutine, if there is one, it is parked and no message waits for it:
// it never waits. It reports whether f ran. Messages posted meanwhile wait; behind the messages that f returns the
// actor receives them, in a place of its own, and then it parks as usual.
func (r *Registry[K, M, A]) Borrow(key K, f func(A) []M) bool {
	b := r.borrow(key)
	if b == nil {
		return false
	}
	var again []M
	defer func() { r.giveBack(key, b, again) }()
	again = f(b.actor)
	return true
}

// borrow takes a parked actor to work; nil if it is not.
func (r *Registry[K, M, A]) borrow(key K) *box[M, A] {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.boxes[key]
	if b == nil || !b.made || b.active || len(b.queue) > 0 {
		return nil
	}
	b.active, b.working = true, true
	return b
}

// giveBack ends the work on a borrowed actor, and has it go on in a place.
func (r *Registry[K, M, A]) giveBack(key K, b *box[M, A], again []M) {
	r.putBack(b, again)
	if r.rest(key, b) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b.active, b.working = false, false
	r.activateLocked(key, b)
}

// rest has an actor rest if it wants to, and reports whether it does.
func (r *Registry[K, M, A]) rest(key K, b *box[M, A]) bool {
	resting, ok := any(b.actor).(Resting)
	if !ok || r.after == nil {
		return false
	}
	d := resting.Rests()
	if d <= 0 || !r.places.group.join() {
		return false
	}
	r.mu.Lock()
	b.working = false
	r.mu.Unlock()
	r.after(d, func() {
		defer r.places.group.done() // it goes on by then
		r.mu.Lock()
		defer r.mu.Unlock()
		b.active = false
		r.activateLocked(key, b)
	})
	return true
}

// Each calls f for each actor, with the registry's lock held. It is for the end, when no actor is at work any more.
func (r *Registry[K, M, A]) Each(f func(A)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.boxes {
		if b.made {
			f(b.actor)
		}
	}
}

func (r *Registry[K, M, A]) boxLocked(key K) *box[M, A] {
	b := r.boxes[key]
	if b == nil {
		b = &box[M, A]{}
		r.boxes[key] = b
	}
	return b
}

func (r *Registry[K, M, A]) postLocked(key K, b *box[M, A], m M) {
	if !b.present {
		b.present, b.absent = true, nil
		r.actors++
		r.resized(r.actors)
	}
	b.queue = append(b.queue, m)
	r.activateLocked(key, b)
}

func (r *Registry[K, M, A]) activateLocked(key K, b *box[M, A]) {
	if !b.active {
		b.active = r.places.Go(key, func() { r.drain(key, b) })
	}
}

// begin takes a box to work.
func (r *Registry[K, M, A]) begin(key K, b *box[M, A]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b.working = true
	if !b.made {
		b.actor, b.made = r.newActor(key), true
	}
}

// drain has the actor receive until its box is empty.
func (r *Registry[K, M, A]) drain(key K, b *box[M, A]) {
	r.begin(key, b)
	for {
		r.mu.Lock()
		messages := b.queue
		b.queue = nil
		r.mu.Unlock()
		if len(messages) > 0 {
			r.putBack(b, b.actor.Receive(messages))
			if r.rest(key, b) {
				return
			}
			continue
		}
		if again := b.actor.Park(); len(again) > 0 {
			r.putBack(b, again)
			if r.rest(key, b) {
				return
			}
			continue
		}
		if parked, forgotten := r.tryPark(key, b); parked {
			if forgotten {
				b.actor.Forgotten()
			}
			return
		}
	}
}

// putBack puts messages in front of later arrivals.
func (r *Registry[K, M, A]) putBack(b *box[M, A], messages []M) {
	if len(messages) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b.queue = append(slices.Clip(messages), b.queue...)
}

// tryPark ends the work unless messages have arrived, and forgets the actor if it agrees.
func (r *Registry[K, M, A]) tryPark(key K, b *box[M, A]) (parked, forgotten bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(b.queue) > 0 {
		return false, false
	}
	b.active, b.working = false, false
	if b.holds == 0 && b.actor.Release() {
		delete(r.boxes, key)
		r.actors--
		r.resized(r.actors)
		return true, true
	}
	return true, false
}
