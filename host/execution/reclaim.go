package execution

// reclaim frees memory for one that waits for it, and reports whether it did: the instance that has rested longest goes, or, if
// none rests, a head start.
func (x *Executions) reclaim() bool {
	if x.resident.EvictOldest() {
		return true
	}
	for h := x.heads.any(); h != nil; h = x.heads.any() {
		if h.discard() {
			return true
		}
	}
	return false
}
