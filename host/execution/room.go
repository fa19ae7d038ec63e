package execution

import (
	"context"
	"math"

	"github.com/cruster/cruster/host/budget"
)

// # Room to grow
//
// A guest is admitted with the memory that instances of its module begin with, and grows. It must
// not wait then, because it holds memory that others wait for: if there is no memory, its turn
// counts for nothing and is taken again later. Many guests that begin small and are handed large
// values, by a replay or in a turn, would all be admitted, all be refused, and replay their
// journals again and again while hardly any of them gets through.
//
// So a run remembers how large its last instance was, or was to become when it was refused memory.
// The next one has that much before it begins: a replay of the same journal needs it again. Memory
// is waited for in order, with no instance in hand, so each gets its turn. A run gives back the
// unused room of its instance as soon as it is idle.

// admit waits for the permit of an instance of the run, with room to grow.
func (in *instance) admit(ctx context.Context, bytes int64) (*budget.Permit, error) {
	room := max(bytes, min(max(bytes, in.room)+in.expected, in.execs.Memory.Total()))
	permit, err := in.execs.resident.Admit(ctx, room)
	if err != nil {
		return nil, err
	}
	permit.SetAside(room - bytes)
	return permit, nil
}

// learnRoom is told how large an instance was, or was to become when it was refused that. A guest grows in
// steps: after a refusal the next instance has half as much again, since it would be refused the next step otherwise.
func (in *instance) learnRoom(wanted int64, refused bool) {
	if refused {
		wanted += wanted / 2
	}
	in.room = wanted
}

// expect says that values of so many bytes will be delivered to the next instance, until forget is called. An instance
// that is there already grows as it can.
func (in *instance) expect(bytes int64) (forget func()) {
	in.expected = guestCopies * bytes
	return func() { in.expected = 0 }
}

// dropRoom gives back the unused room of the instance.
func (in *instance) dropRoom() {
	if in.guest != nil {
		in.guest.memory.Instance.DropAside(math.MaxInt64)
	}
}
