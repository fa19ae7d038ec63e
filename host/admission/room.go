package admission

// maxTries bounds the executions that are looked at to make room on a full host. Some do more than wait, and stay.
const maxTries = 32

// Room is the room for executions in memory.
type Room struct {
	// Limit bounds the executions; 0 is no limit.
	Limit int
	// Count counts them.
	Count func() int
	// Make has the execution leave memory that has waited longest, and reports whether another is to: that
	// one stays, as it does more than wait.
	Make func() (another bool)
}

// Has tells whether another execution fits. If there is little room, or none, it makes some: there
// may be room when it is asked again.
func (r Room) Has() bool {
	n, tries := r.Count(), 1
	switch {
	case r.Limit == 0 || n < r.crowded():
		return true
	case n >= r.Limit:
		tries = maxTries
	}
	for r.Make() && tries > 1 {
		tries--
	}
	return n < r.Limit
}

// crowded is the number of executions from which waiting ones leave memory: there is room before it is needed.
func (r Room) crowded() int { return r.Limit - (r.Limit+7)/8 }
