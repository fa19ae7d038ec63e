// Package terminal writes text for people and their shells: tables, aligned "name: value" lines,
// words that a shell takes as they are. Text from a module or a client cannot break a line or move
// the cursor.
//
// It imports nothing of Cruster, and knows nothing of executions: that is package view.
package terminal
