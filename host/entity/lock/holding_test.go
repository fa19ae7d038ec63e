package lock

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

var (
	alice = journal.Caller{ID: journal.ID{1}, Run: journal.RunID{1}, Step: journal.StepID{1}}
	bob   = journal.Caller{ID: journal.ID{2}, Run: journal.RunID{2}, Step: journal.StepID{1}}
)

// held is an entity that a step has locked.
func held(holders *Holders, step journal.Caller) *Holding {
	h := NewHolding(journal.ID{9}, holders)
	h.EndLook(&Look{Lock: &journal.Lock{Holder: step}, Held: true}, true)
	return &h
}

func TestMayPass(t *testing.T) {
	t.Parallel()
	next := alice
	next.Step = journal.StepID{2}
	for name, c := range map[string]struct {
		call call.Call
		want bool
	}{
		"a call of the holder":             {call.Call{From: alice}, true},
		"a later call of its run":          {call.Call{From: next}, true},
		"a message of the holder":          {call.Call{From: alice, Position: 3}, false},
		"a call of another run":            {call.Call{From: bob}, false},
		"a call of a client":               {call.Call{}, false},
		"the holder's lock, once more":     {call.Call{Kind: call.Lock, From: alice}, true},
		"the holder's lock, as a message":  {call.Call{Kind: call.Lock, From: alice, Position: 3}, true},
		"a lock of its run's next section": {call.Call{Kind: call.Lock, From: next}, false},
		"an operator's unlock":             {call.Call{Kind: call.Unlock}, true},
	} {
		require.Equal(t, c.want, held(&Holders{}, alice).MayPass(&c.call), name)
	}
	require.True(t, (&Holding{}).MayPass(&call.Call{}), "no one holds it")
}

func TestAllows(t *testing.T) {
	t.Parallel()
	inSection := &call.Call{From: alice, Section: alice.Step}
	require.NoError(t, held(&Holders{}, alice).Allows(inSection))
	require.Error(t, held(&Holders{}, bob).Allows(inSection))
	require.Error(t, (&Holding{}).Allows(inSection))
	require.NoError(t, held(&Holders{}, bob).Allows(&call.Call{From: alice}), "it was made in no section, and waits")
}

func TestSectionEnds(t *testing.T) {
	t.Parallel()
	var holders Holders
	h := held(&holders, alice)
	require.Equal(t, []journal.ID{{9}}, holders.Of(alice))
	h.SectionEnded(bob)
	require.NotNil(t, h.Lock())
	h.SectionEnded(alice)
	require.Nil(t, h.Lock())
	require.True(t, h.Leftover())
	require.Zero(t, holders.Len())
	h.RowDeleted()
	require.False(t, h.Leftover())
}

// TestSectionEndsWhileItsLockIsWritten: the row is worth nothing.
func TestSectionEndsWhileItsLockIsWritten(t *testing.T) {
	t.Parallel()
	var holders Holders
	h := NewHolding(journal.ID{9}, &holders)
	h.EndLook(&Look{}, true)
	h.Begin(alice)
	h.EndLock(&call.Call{From: alice, Over: true}, &journal.Lock{Holder: alice})
	require.Nil(t, h.Lock())
	require.True(t, h.Leftover())
	require.Zero(t, holders.Len())
}

func TestLockThatWasNotWritten(t *testing.T) {
	t.Parallel()
	var holders Holders
	h := held(&holders, alice)
	h.Begin(bob)
	h.EndLock(&call.Call{From: bob}, nil)
	require.Empty(t, holders.Of(bob))
	h.EndLock(&call.Call{From: alice}, nil)
	require.NotEmpty(t, holders.Of(alice), "it holds the entity still")
}

func TestOperatorUnlocks(t *testing.T) {
	t.Parallel()
	h := held(&Holders{}, alice)
	h.EndUnlock(bob)
	require.NotNil(t, h.Lock(), "it is another's by now")
	h.EndUnlock(alice)
	require.Nil(t, h.Lock())
	require.False(t, h.Leftover())
}

func TestEndLook(t *testing.T) {
	t.Parallel()
	row := &journal.Lock{Holder: alice}
	fresh := NewHolding(journal.ID{9}, &Holders{})
	require.True(t, fresh.WantsLook(0))
	fresh.BeginLook(true)
	require.False(t, fresh.WantsLook(0), "it is being read")
	require.False(t, fresh.EndLook(&Look{Err: errors.New("away")}, true))
	require.False(t, fresh.EndLook(&Look{Lock: row, Held: true}, false), "the host has failed since")
	require.False(t, fresh.Known())
	require.True(t, fresh.EndLook(&Look{Lock: row}, true))
	require.True(t, fresh.Known())
	require.True(t, fresh.Leftover(), "the section of its holder has ended")

	h := held(&Holders{}, alice)
	require.False(t, h.EndLook(&Look{Lock: row}, true), "it was told meanwhile")
	require.NotNil(t, h.Lock())
	h.Forget()
	require.False(t, h.Known())
}

func TestAwait(t *testing.T) {
	t.Parallel()
	h := held(&Holders{}, alice)
	h.Await(false, 5)
	require.Zero(t, h.LookAt())
	h.Await(true, 5)
	require.Equal(t, 5+int64(LookEvery), h.LookAt())
	h.Await(true, 6)
	require.Equal(t, 5+int64(LookEvery), h.LookAt())
	require.False(t, h.WantsLook(6))
	require.True(t, h.WantsLook(h.LookAt()))
	h.SectionEnded(alice)
	require.Zero(t, h.LookAt())
}
