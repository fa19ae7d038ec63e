package sqlite

import "zombiezen.com/go/sqlite"

// CheckFiles is the check of each commit.
func (s *Store) CheckFiles() error { return s.files.check() }

// GiveTable gives a table to a namespace.
func (s *Store) GiveTable(name, namespace string) error {
	s.sandbox.Owners()[name] = namespace
	return run(s.writer, "UPDATE cruster_guest_tables SET namespace = ?2 WHERE name = ?1", func(stmt *sqlite.Stmt) {
		stmt.BindText(1, name)
		stmt.BindText(2, namespace)
	}, nil)
}

// RecordAs records a table under another name than its own.
func (s *Store) RecordAs(name, recorded string) error {
	return run(s.writer, "UPDATE cruster_guest_tables SET name = ?2 WHERE name = ?1", func(stmt *sqlite.Stmt) {
		stmt.BindText(1, name)
		stmt.BindText(2, recorded)
	}, nil)
}
