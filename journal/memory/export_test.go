package memory

import "github.com/cruster/cruster/journal"

// Fences are the owners of shards, for tests that put them back with SetFences.
func (s *Store) Fences() [journal.NumShards]journal.Fence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fences
}

func (s *Store) SetFences(fences [journal.NumShards]journal.Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fences = fences
}
