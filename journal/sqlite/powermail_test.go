package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/cruster/cruster/journal"
)

// counter is an entity that counts the messages that it takes.
var counter = journal.Entity{
	ID: journal.EntityID("default", "w/Counter", "1"), Namespace: "default", Type: "w/Counter", Key: "1",
}

func counted(n int) journal.Origin { return journal.Origin{1, byte(n), byte(n >> 8)} }

// send sends the counter a few messages.
func (l *powerLoad) send() error {
	w := journal.Write{ID: counter.ID, Fence: l.fences[counter.ID.Shard()]}
	sent := l.sent
	for range 1 + l.rng.IntN(3) {
		sent++
		m := journal.Message{
			Envelope: journal.Envelope{Kind: journal.CallMessage, Origin: counted(sent)},
			Value:    make([]byte, l.rng.IntN(1<<l.rng.IntN(15))),
		}
		m.Bytes = len(m.Value)
		w.Send = append(w.Send, journal.Sent{To: counter.ID, Message: m})
	}
	if err := l.commit(w); err != nil {
		return err
	}
	l.sent = sent
	l.acknowledged("sent", func(s *Store) error {
		_, last, err := mailOfCounter(s)
		if err == nil && last < sent {
			err = fmt.Errorf("%d messages were sent, and %d are known", sent, last)
		}
		return err
	})
	return nil
}

// count has the counter take its messages.
func (l *powerLoad) count() error {
	messages, _, err := l.store.Messages(l.ctx, journal.Receiver{ID: counter.ID}, 0, journal.PageLimit{})
	if err != nil || len(messages) == 0 {
		return err
	}
	w := journal.Write{ID: counter.ID, Fence: l.fences[counter.ID.Shard()]}
	for _, m := range messages {
		w.Take = append(w.Take, m.Position)
		w.Receipts = append(w.Receipts, journal.Receipt{Origin: m.Origin, At: 1})
	}
	taken := l.taken + len(messages)
	e := counter
	e.State = strconv.AppendInt(nil, int64(taken), 10)
	w.Entity = &e
	if err := l.commit(w); err != nil {
		return err
	}
	l.taken = taken
	l.acknowledged("taken", func(s *Store) error {
		now, _, err := mailOfCounter(s)
		if err == nil && now < taken {
			err = fmt.Errorf("%d messages were taken, and %d are", taken, now)
		}
		return err
	})
	return nil
}

// mailOfCounter tells how many messages the counter has taken, and how many there were, and checks
// them: each is there or has left a receipt, and as many have as are counted.
func mailOfCounter(s *Store) (taken, last int, err error) {
	ctx := context.Background()
	envelopes, err := s.Inbox(ctx, journal.Receiver{ID: counter.ID}, 0)
	if err != nil {
		return 0, 0, err
	}
	there := map[journal.Origin]bool{}
	for _, e := range envelopes {
		there[e.Origin] = true
	}
	receipts := 0
	for ; ; last++ {
		_, err := s.Receipt(ctx, counter.ID, counted(last+1))
		switch answered := err == nil; {
		case err != nil && !errors.Is(err, journal.ErrNotFound):
			return 0, 0, err
		case answered && there[counted(last+1)]:
			return 0, 0, fmt.Errorf("message %d was taken, and is there", last+1)
		case answered:
			receipts++
			continue
		case there[counted(last+1)]:
			continue
		}
		break
	}
	e, err := s.Entity(ctx, counter.ID)
	switch {
	case err == nil:
		taken, err = strconv.Atoi(string(e.State))
	case errors.Is(err, journal.ErrNotFound):
		err = nil
	}
	if err == nil && (taken != receipts || last != receipts+len(envelopes)) {
		err = fmt.Errorf(
			"%d are counted; there are %d receipts and %d messages, and the last is %d", taken, receipts,
			len(envelopes), last,
		)
	}
	return taken, last, err
}
