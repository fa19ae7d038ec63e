package view

import (
	"fmt"
	"io"
	"strconv"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Lock is the JSON of an entity that is locked.
type Lock struct {
	Entity    string       `json:"entity"`
	Namespace string       `json:"namespace"`
	Holder    string       `json:"holder"`
	Since     *time.Time   `json:"since,omitempty"`
	Waiters   []LockWaiter `json:"waiters"`
	Waiting   int32        `json:"waiting"`
}

// LockWaiter is the JSON of a caller queued for the lock of an entity.
type LockWaiter struct {
	Execution string     `json:"execution,omitempty"`
	Operation string     `json:"operation"`
	Since     *time.Time `json:"since,omitempty"`
}

// LockOf is the shape of a lock.
func LockOf(l *crusterv1.EntityLock) Lock {
	v := Lock{
		Entity:    l.GetEntity(),
		Namespace: l.GetNamespace(),
		Holder:    l.GetHolder(),
		Since:     timeOf(l.GetLockTime()),
		Waiters:   []LockWaiter{},
		Waiting:   l.GetWaiting(),
	}
	for _, w := range l.GetWaiters() {
		v.Waiters = append(v.Waiters, LockWaiter{
			Execution: w.GetExecution(), Operation: w.GetOperation(), Since: timeOf(w.GetQueueTime()),
		})
	}
	return v
}

// WriteLocks writes a list of locks, with the first waiter of each.
func WriteLocks(w io.Writer, locks []*crusterv1.EntityLock) error {
	var rows [][]string
	for _, l := range locks {
		rows = append(rows, []string{
			l.GetEntity(), l.GetHolder(), timeText(l.GetLockTime()), strconv.Itoa(int(l.GetWaiting())), firstWaiter(l),
		})
	}
	return terminal.Table(w, []string{"ENTITY", "HOLDER", "SINCE", "WAITING", "FIRST"}, rows)
}

func firstWaiter(l *crusterv1.EntityLock) string {
	if len(l.GetWaiters()) == 0 {
		return ""
	}
	first := l.GetWaiters()[0]
	who := first.GetExecution()
	if who == "" {
		who = "a caller"
	}
	return who + " (" + first.GetOperation() + ") since " + timeText(first.GetQueueTime())
}

// Unlocked is the JSON of a lock that was taken away.
type Unlocked struct {
	Entity string `json:"entity"`
	// Holder had it; empty if no execution had.
	Holder string `json:"holder"`
}

// WriteUnlocked says whose lock was taken away.
func WriteUnlocked(w io.Writer, v Unlocked) error {
	text := "not locked: " + v.Entity
	if v.Holder != "" {
		text = "unlocked: " + v.Entity + ", which " + v.Holder + " had locked"
	}
	_, err := fmt.Fprintln(w, terminal.OneLine(text))
	return err
}
