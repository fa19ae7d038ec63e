// Package migrations holds the SQL schemas of the stores, embedded into the
// binary: one folder a dialect, one file a version, in the form that goose
// applies. A file that was released never changes; a change is a new file.
package migrations
