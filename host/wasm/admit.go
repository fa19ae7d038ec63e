package wasm

import "github.com/cruster/cruster/abi"

// Memory is the part of the host's memory that an instance has: a permit of host/budget.
type Memory interface {
	// Grow makes it larger, before that much is taken; false says that there is no room.
	Grow(bytes int64) bool
	// CouldGrow tells whether there would be room if nothing else took any.
	CouldGrow(bytes int64) bool
}

// admit takes memory of the host before the instance does. It reports false if there is none: the guest sees a failed
// memory.grow or is stopped, and whatever it makes of that counts for nothing. See starvedLocked.
func (i *Instance) admit(bytes int64) bool {
	memory := i.world.Memory
	if memory == nil {
		return true
	}
	unused := min(i.unusedStack(), bytes)
	switch {
	case memory.Grow(bytes - unused):
		i.stackAdmitted -= unused
		return true
	case !memory.CouldGrow(bytes - unused):
		i.needed = i.memorySizeLocked() + i.stackAdmitted - unused + bytes
	}
	return false
}

// starvedLocked is the error if the guest asked for memory that the host did not have; nil if it
// did not. That is no part of its run: on another host, or a moment later, it would have got it. So
// its work since then is discarded, also if it returned as if nothing had happened.
//
// A moment later is of no use to a guest that would need more than the host has for all of them: that is told, and it
// is no trap, since the guest did nothing wrong.
func (i *Instance) starvedLocked(where string) error {
	switch {
	case i.linear == nil || !i.linear.refused:
		return nil
	case i.needed == 0:
		return abi.Errorf(abi.CodeOverloaded, "the host has no memory left for an instance, in %s", where)
	}
	never := abi.Errorf(abi.CodeGuestMemory,
		"in %s the module needs %d KiB of memory, its native stack included, and the host has less than that for all "+
			"instances together",
		where, i.needed>>10,
	).
		WithHint("Use less memory or recurse less deeply, or start the host with a larger --memory. " +
			"Instances have more than half of it, and --guest-memory, the limit of one of them, should fit into that.")
	never.Retryable = false
	return never
}
