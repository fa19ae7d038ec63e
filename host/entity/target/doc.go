// Package target has the names of entities, and finds the code that serves them.
package target
