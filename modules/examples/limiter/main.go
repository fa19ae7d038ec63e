// Command limiter is a rate limiter: an entity for each client, which counts the client's
// remaining permits.
package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Bucket is the state of a limiter: permits that are taken, and come back with time.
type Bucket struct {
	// Capacity is how many permits there are at most.
	Capacity int64 `json:"capacity"`
	// EveryMS is how many milliseconds it takes until a permit is back.
	EveryMS int64 `json:"every_ms"`
	// Taken is how many were taken and are not back at UpdatedMS, Unix milliseconds.
	Taken     int64 `json:"taken"`
	UpdatedMS int64 `json:"updated_ms"`
}

// Limiters are the limiters; the id of one names the limited party: a client, a key of an API.
var Limiters = cruster.NewStatefulEntity[Bucket]("Limiter").OnCreate(func(_ *cruster.EntityContext, b *Bucket) error {
	b.Capacity, b.EveryMS = 10, 100
	return nil
})

// Limit is the request of Configure.
type Limit struct {
	Capacity int64 `json:"capacity"`
	EveryMS  int64 `json:"every_ms"`
}

// Decision is the answer of Take.
type Decision struct {
	Allowed bool `json:"allowed"`
	// Left is how many permits are left.
	Left int64 `json:"left"`
	// RetryAfterMS is when there are enough permits; 0 if it is allowed.
	RetryAfterMS int64 `json:"retry_after_ms"`
}

// Configure sets the limit. Taken permits stay taken.
var Configure = cruster.NewOperation(
	Limiters,
	"configure",
	func(_ *cruster.EntityContext, b *Bucket, l Limit) (bool, error) {
		if l.Capacity < 1 || l.EveryMS < 1 {
			return false, cruster.Errorf("invalid_limit", "a limit has a capacity and an interval")
		}
		b.refill(time.Now().UnixMilli())
		b.Capacity, b.EveryMS = l.Capacity, l.EveryMS
		return true, nil
	},
)

// Take takes permits, all or none.
var Take = cruster.NewOperation(Limiters, "take", func(_ *cruster.EntityContext, b *Bucket, n int64) (Decision, error) {
	if n < 1 || n > b.Capacity {
		return Decision{}, cruster.Errorf("invalid_number", "1 to %d permits can be taken together", b.Capacity)
	}
	now := time.Now().UnixMilli()
	b.refill(now)
	if missing := b.Taken + n - b.Capacity; missing > 0 {
		return Decision{Left: b.Capacity - b.Taken, RetryAfterMS: missing*b.EveryMS - (now - b.UpdatedMS)}, nil
	}
	b.Taken += n
	return Decision{Allowed: true, Left: b.Capacity - b.Taken}, nil
})

// refill gives permits back for the time that has passed.
func (b *Bucket) refill(now int64) {
	back := (now - b.UpdatedMS) / b.EveryMS
	if back >= b.Taken {
		b.Taken, b.UpdatedMS = 0, now
		return
	}
	b.Taken -= back
	b.UpdatedMS += back * b.EveryMS
}

func main() {}
