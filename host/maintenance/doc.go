// Package maintenance does what a host does in the background, over its store: it
// finds executions that are due and not in memory ([Recovery]), and deletes those
// that were finished long ago ([Retention]).
//
// It imports journal and, for the horizon of timers, host/timer. What it finds it
// hands to interfaces of its own. Start reading at recovery.go.
package maintenance
