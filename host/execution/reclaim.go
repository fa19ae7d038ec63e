package execution

// reclaim evicts the least recently used idle instance or, if none is idle, an eager start. It
// reports whether it evicted anything.
func (x *Executions) reclaim() bool {
	if x.resident.EvictOldest() {
		return true
	}
	for h := x.eagerStarts.any(); h != nil; h = x.eagerStarts.any() {
		if h.discard() {
			return true
		}
	}
	return false
}
