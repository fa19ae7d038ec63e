package mailbox

import (
	"time"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
)

const (
	// maxBytes bounds the inputs of calls that wait for one entity: it may be held for long.
	maxBytes = 16 << 20
	// maxIdleTime bounds how long an entity without calls stays in memory, whatever its type says.
	maxIdleTime = 24 * time.Hour
)

// Limits are the limits that the type of an entity had when it was last called.
type Limits struct {
	Name        target.Ref // as calls have called it; zero if none has
	Mailbox     int        // calls that wait
	Concurrency int        // calls that run beside each other
	IdleTime    time.Duration
}

// by takes over the limits that the type of a call has now.
func (l *Limits) by(c *call.Call) {
	l.Name = c.Ref
	l.Mailbox, l.Concurrency = max(c.Mailbox, 1), max(c.Concurrency, 1)
	if c.IdleTime > 0 {
		l.IdleTime = min(time.Duration(c.IdleTime), maxIdleTime)
	}
}
