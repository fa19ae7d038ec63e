package abi

// MaxLocked bounds the entities that one critical section locks.
const MaxLocked = 32

// Lock is the body of [OpLock]: begin a critical section over entities. It is delivered with nil once all of them are
// locked. From the moment it is issued until it has failed, was cancelled or is followed by [OpUnlock], the run is in
// the section: it may call the entities that it has locked and no others, and may not call workflows or lock again. The
// end of the run ends the section.
type Lock struct {
	// Entities are named as in an [EntityMessage]; each once.
	Entities []string `msgpack:"entities"`
}

// Unlock is the body of [OpUnlock]: end the critical section. It is delivered with nil once that is durable, and also
// if there is none.
type Unlock struct{}

func checkLock(b *Lock) *Error {
	if len(b.Entities) == 0 || len(b.Entities) > MaxLocked {
		return Errorf(
			CodeBadBody, "%s: %d entities; 1 to %d can be locked together", OpLock, len(b.Entities), MaxLocked,
		)
	}
	for _, name := range b.Entities {
		if err := checkEntity(name); err != nil {
			return err
		}
	}
	return nil
}
