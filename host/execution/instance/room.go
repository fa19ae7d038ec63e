package instance

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

// room is the memory that the next instance of a run will need.
type room struct {
	known    int64 // its expected need; 0 if it is not known
	expected int64 // its expected need beyond that
}

// of is the room for an instance that begins with so many bytes, within a total.
func (r *room) of(bytes, total int64) int64 {
	return max(bytes, min(max(bytes, r.known)+r.expected, total))
}

// learn is told how large an instance was, or was to become when it was refused that. A guest grows in
// steps: after a refusal the next instance has half as much again, since it would be refused the next step otherwise.
func (r *room) learn(wanted int64, refused bool) {
	if refused {
		wanted += wanted / 2
	}
	r.known = wanted
}
