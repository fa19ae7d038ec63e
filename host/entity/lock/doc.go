// Package lock is the knowledge that an entity has of its lock: the holder, the calls that may pass by the queue
// meanwhile, and when to look whether the section of the holder has ended. The rows are in the store: see
// journal/lock.go.
//
// [Holding] decides and waits for nothing. A [Reader] reads the rows, in a task. [Holders] finds the entities of a
// section that ends.
package lock
