// Package call is a pending operation of an entity: its kind, its callers, the message that it was read from
// (parcel.go) and its place among others (queue.go).
package call
