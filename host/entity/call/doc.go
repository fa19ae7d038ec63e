// Package call is a pending operation of an entity: its kind, its callers, the request that it was made of (request.go)
// or the message that it was read from (parcel.go), and its place among others (queue.go).
package call
