package mailbox

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/host/entity/call"
)

// misfits counts how often each message of the inbox has failed for a reason that does not pass. A
// missing type concerns all messages of a batch, so they are tried together, and parked together. A host
// fault may be on account of one: the messages of its batch are tried one by one from then on.
type misfits struct {
	attempts map[uint64]int // by position
	faulty   bool           // the host has failed at one of them
}

// count counts the attempts of a batch. Misfit says that those without an answer have none for a reason that does not
// pass, and fault that the host has failed.
func (m *misfits) count(calls []*call.Call, answers map[*call.Call]call.Answer, misfit, fault bool) {
	for _, c := range calls {
		_, answered := answers[c]
		switch {
		case answered:
			delete(m.attempts, c.Position)
		case misfit && c.Position != 0:
			m.attempts[c.Position]++
		}
	}
	m.faulty = (m.faulty || fault) && len(m.attempts) > 0
}

// cut shortens a batch of calls, if the host has failed at one of their messages: such a message is alone in its
// batch, so that the attempts of the others are not used up.
func (m *misfits) cut(calls []*call.Call) (n int) {
	if !m.faulty {
		return len(calls)
	}
	if i := slices.IndexFunc(calls, func(c *call.Call) bool { return m.attempts[c.Position] > 0 }); i >= 0 {
		return max(i, 1)
	}
	return len(calls)
}

// keep forgets the attempts of messages that have left the inbox, all of whose messages are in memory. The commit that
// parked a message may have lost its answer, and a retry has all attempts again.
func (m *misfits) keep(positions map[uint64]*call.Call) {
	maps.DeleteFunc(m.attempts, func(position uint64, _ int) bool { return positions[position] == nil })
}
