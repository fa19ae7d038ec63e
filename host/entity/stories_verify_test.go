package entity

import "strings"

// verify checks all notes of a finished story.
func (w *storyWorld) verify(seen tally) {
	performed, parked := map[string]int{}, map[string]bool{}
	for _, key := range storyKeys {
		for _, n := range w.notes(key) {
			performed[n.id()]++
		}
		for _, id := range w.parkedNotes(key) {
			parked[id] = true
		}
		if waiting := w.waiting(key); len(waiting) > 0 {
			w.wrong("messages of %s wait after a restart: %q", key, waiting)
		}
		w.verifyOrder(key)
	}
	w.verifyStarts(parked, seen)
	for id, told := range w.told {
		w.verifyNote(id, told, performed, parked)
	}
	for _, key := range storyKeys {
		for i, n := range w.notes(key) {
			if n.Relay != "" {
				id := relayed(key, i, n).id()
				w.told[id] = wasAcknowledged
				w.verifyNote(id, wasAcknowledged, performed, parked)
				seen["relayed"]++
			}
		}
	}
	for id := range performed {
		if w.told[id] == "" {
			w.wrong("%q was performed, and no one has sent it", id)
		}
	}
	seen["performed"] += len(performed)
	seen["parked"] += len(parked)
	seen["dropped"] += w.drops
	seen["retried"] += w.retried
	seen["locked"] += w.locked
	seen["crashed"] += len(w.late)
}

// verifyNote checks the outcome of a note.
func (w *storyWorld) verifyNote(id, told string, performed map[string]int, parked map[string]bool) {
	times := performed[id]
	dropped, mayBeDropped := w.dropped[id]
	switch {
	case times > 1:
		w.wrong("%q was performed %d times", id, times)
	case times == 1 && (parked[id] || dropped || told == hasFailed || told == wasDropped):
		w.wrong("%q was performed, and its sender was told %q (parked: %v, dropped: %v)", id, told, parked[id], dropped)
	case parked[id] && dropped:
		w.wrong("%q is parked, and an operator was told that it was dropped", id)
	case told == wasDropped && !mayBeDropped:
		w.wrong("%q: its sender was told that an operator dropped it, and none did", id)
	case told == wasPerformed && times == 0:
		w.wrong("%q: its caller was told that it was performed, and it was not", id)
	case told == wasAcknowledged && times == 0 && !parked[id] && !mayBeDropped:
		w.wrong("%q was acknowledged and is not there any more", id)
	}
}

// startOf names the start that a note has asked for.
func startOf(note string) string { return "start " + note }

// verifyStarts checks the workflows that performed notes have asked for. A start may come twice: it finds the first.
func (w *storyWorld) verifyStarts(parked map[string]bool, seen tally) {
	w.mu.Lock()
	defer w.mu.Unlock()
	started := map[string]bool{}
	for _, name := range w.started {
		started[strings.TrimPrefix(name, "default bank/Pay/")] = true
	}
	for _, key := range storyKeys {
		for _, n := range w.notes(key) {
			_, mayBeDropped := w.dropped[startOf(n.id())]
			if n.Start && !started[n.id()] && !parked[startOf(n.id())] && !mayBeDropped {
				w.wrong("%q was performed, and its workflow is not started", n.id())
			}
			if n.Start {
				seen["started"] += one(started[n.id()])
				delete(started, n.id())
			}
		}
	}
	for id := range started {
		w.wrong("a workflow is started for %q, which was not performed", id)
	}
}

// verifyOrder checks that the notes of each sender are in their order, except for notes that may have
// been overtaken: parked ones, and ones whose sender was told nothing.
func (w *storyWorld) verifyOrder(key string) {
	last := map[string]int{}
	notes := w.notes(key)
	for _, n := range notes {
		told, known := w.told[n.id()]
		if w.late[n.id()] || known && told == nothing {
			continue
		}
		if before, is := last[n.From]; is && n.N < before {
			w.wrong("%s: the notes of %s are not in their order: %v", key, n.From, notes)
		}
		last[n.From] = max(last[n.From], n.N)
	}
}
