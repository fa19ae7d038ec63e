package abi

import "time"

// Backoff strategies of [Retry].
const (
	BackoffExponential = "exponential"
	BackoffConstant    = "constant"
)

// Retry is the retry policy of an activity. The zero value never retries.
type Retry struct {
	// Backoff is exponential (the default, if empty) or constant.
	Backoff string `msgpack:"backoff"`
	// Base is the first delay in nanoseconds; 0 means one second. Exponential delays double from there and are capped
	// at [MaxBackoff].
	Base int64 `msgpack:"base"`
	// Jitter is the largest fraction, 0 to 1, by which a delay is shortened at random.
	Jitter float64 `msgpack:"jitter"`
	// Retries is how many attempts may follow the first.
	Retries uint32 `msgpack:"retries"`
}

// Delay is the longest pause before the next attempt after some have failed: the one without jitter.
func (r Retry) Delay(failed uint32) time.Duration {
	delay := time.Duration(r.Base)
	if delay <= 0 {
		delay = DefaultBackoff
	}
	if r.Backoff != BackoffConstant {
		for i := uint32(1); i < failed && delay < MaxBackoff; i++ {
			delay *= 2
		}
	}
	return min(delay, MaxBackoff)
}
