package activity

import (
	"time"

	"github.com/cruster/cruster/abi"
)

// Backoff is the delay before the next attempt after some have failed by its policy ([abi.Retry.Delay]),
// less a random part of it. Random yields numbers from 0 to 1.
func Backoff(r abi.Retry, failed uint32, random func() float64) time.Duration {
	delay := r.Delay(failed)
	if r.Jitter > 0 {
		delay -= time.Duration(r.Jitter * random() * float64(delay))
	}
	return delay
}

// conflictDelay is the pause before an attempt is repeated that collided with other transactions for the nth time.
func conflictDelay(n int, random func() float64) time.Duration {
	longest := min(time.Duration(n)*5*time.Millisecond, 200*time.Millisecond)
	return time.Duration(random() * float64(longest))
}
