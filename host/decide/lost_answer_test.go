package decide_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// message is a write that a store takes once only.
func message() journal.Write {
	return journal.Write{
		ID: journal.ID{1},
		Receive: &journal.Message{
			Envelope: journal.Envelope{Kind: journal.CallMessage, Name: "x", Origin: journal.NewOrigin()},
		},
	}
}

// store loses commits as its script says, try by try.
type store struct {
	*memory.Store
	fences []journal.Fence
	script []string
	late   []journal.Write // that take effect before the next try
	tries  int
}

func (s *store) Commit(w journal.Write) (journal.Result, error) {
	s.tries++
	for _, late := range s.late {
		_, _ = s.apply(late)
	}
	s.late = nil
	mishap := ""
	if len(s.script) > 0 {
		mishap, s.script = s.script[0], s.script[1:]
	}
	switch mishap {
	case "drop":
		return journal.Result{}, fmt.Errorf("commit: %w", journal.ErrUndecided)
	case "late":
		s.late = append(s.late, w)
		return journal.Result{}, journal.ErrUndecided
	case "away":
		return journal.Result{}, journal.ErrUnavailable
	case "fenced":
		return journal.Result{}, journal.ErrFenced
	}
	res, err := s.apply(w)
	if mishap == "lose" {
		return journal.Result{}, journal.ErrUndecided
	}
	return res, err
}

func (s *store) apply(w journal.Write) (journal.Result, error) {
	w.Fence = s.fences[w.ID.Shard()]
	results, err := s.Store.Commit(context.Background(), []journal.Write{w})
	if err != nil {
		return journal.Result{}, err
	}
	return results[0], results[0].Err
}

type world struct {
	decide.Writer
	store *store
}

func newWorld(t *testing.T, script ...string) *world {
	s := &store{Store: memory.New(), script: script}
	var err error
	s.fences, err = s.ClaimShards(t.Context(), "host")
	require.NoError(t, err)
	host := hoststate.New()
	host.MarkStarted()
	return &world{
		decide.Writer{
			Clock: clockwork.NewRealClock(), Commit: s.Commit, Host: host, Logger: slog.New(slog.DiscardHandler),
		},
		s,
	}
}

// TestDo repeats a write until the store has decided both tries.
func TestDo(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		script []string
		tries  int
		err    error
		is     journal.Result
	}{
		"the answer comes":               {nil, 1, nil, journal.Result{Position: 1}},
		"it is refused, without a doubt": {[]string{"away"}, 1, journal.ErrUnavailable, journal.Result{}},
		"it took effect":                 {[]string{"lose"}, 2, nil, journal.Result{Existed: true}},
		"it did not":                     {[]string{"drop"}, 2, nil, journal.Result{Position: 1}},
		"it takes effect late":           {[]string{"late"}, 2, nil, journal.Result{Existed: true}},
		"late, while the store is away": {
			[]string{"late", "away", "away"}, 4, nil, journal.Result{Existed: true},
		},
		"it did not, and the store is away": {
			[]string{"drop", "away", "drop", "away"}, 5, nil, journal.Result{Position: 1},
		},
		"each answer is lost": {
			[]string{"lose", "lose", "lose"}, 4, nil, journal.Result{Existed: true},
		},
		"another host has taken over meanwhile": {[]string{"drop", "fenced"}, 2, journal.ErrFenced, journal.Result{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.script...)
				res, err := w.Do(t.Context(), message(), decide.Existing)
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.is, res)
				require.Equal(t, c.tries, w.store.tries)
			})
		})
	}
}

// TestLookDecides leaves it to the look whether a refusal decides, and with which answer.
func TestLookDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "drop", "away", "away")
		looks, reason := 0, errors.New("it was done in another way")
		_, err := w.Do(t.Context(), message(), func(_ journal.Result, refusal error) (journal.Result, error) {
			require.ErrorIs(t, refusal, journal.ErrUnavailable)
			if looks++; looks < 2 {
				return journal.Result{}, journal.ErrUndecided
			}
			return journal.Result{}, reason
		})
		require.ErrorIs(t, err, reason)
		require.Equal(t, 2, looks)
	})
}

// TestDoGivesUp ends when the caller does, in doubt, and when the host does, for its reason.
func TestDoGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "drop", "away", "late")
		ctx, cancel := context.WithCancel(t.Context())
		tries := w.Commit
		w.Commit = func(m journal.Write) (journal.Result, error) {
			res, err := tries(m)
			if w.store.tries == 3 {
				cancel()
			}
			return res, err
		}
		_, err := w.Do(ctx, message(), decide.Existing)
		require.ErrorIs(t, err, journal.ErrUndecided, "not what the store said at last")
		require.Equal(t, 3, w.store.tries)

		w = newWorld(t, "drop", "drop", "drop")
		time.AfterFunc(time.Millisecond, func() { w.Host.Lose(abi.Errorf(abi.CodeFenced, "taken over")) })
		_, err = w.Do(w.Host.Context(), message(), decide.Existing)
		require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "in a pause")

		w = newWorld(t, "drop", "away")
		w.Host.Lose(abi.Errorf(abi.CodeFenced, "taken over"))
		_, err = w.Do(t.Context(), message(), decide.Existing)
		require.Equal(t, abi.CodeFenced, abi.CodeOf(err))
	})
}
