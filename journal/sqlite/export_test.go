package sqlite

// CheckFiles is what each commit asks.
func (s *Store) CheckFiles() error { return s.files.check() }
