package cruster

import (
	"fmt"
	"math"
	"time"

	"github.com/cruster/cruster/abi"
)

// ActivityOption is an option of [NewActivity], of a [Group] or of a call ([Activity.With]).
type ActivityOption func(*activityOptions)

type activityOptions struct {
	key     string
	retry   abi.Retry
	timeout int64
}

func (o *activityOptions) apply(opts []ActivityOption) {
	for _, f := range opts {
		f(o)
	}
}

// Retries is how many attempts may follow the first. Errors marked with [NonRetryable] are never retried.
func Retries(n int) ActivityOption {
	if n < 0 || n > math.MaxUint32 {
		panic(fmt.Sprintf("cruster: Retries(%d) is not a number of attempts", n))
	}
	return func(o *activityOptions) { o.retry.Retries = uint32(n) }
}

// ExponentialBackoff waits base before the first retry and twice as long before each further one, up to a minute. It is
// the default, with a base of a second.
func ExponentialBackoff(base time.Duration) ActivityOption {
	checkDuration("ExponentialBackoff", base)
	return func(o *activityOptions) {
		o.retry.Backoff, o.retry.Base = abi.BackoffExponential, int64(base)
	}
}

// ConstantBackoff waits d before each retry, up to a minute.
func ConstantBackoff(d time.Duration) ActivityOption {
	checkDuration("ConstantBackoff", d)
	return func(o *activityOptions) {
		o.retry.Backoff, o.retry.Base = abi.BackoffConstant, int64(d)
	}
}

// Jitter shortens each delay by a random part of up to fraction, 0 to 1, so that activities that failed at the same
// time do not retry at the same time.
func Jitter(fraction float64) ActivityOption {
	if !(fraction >= 0 && fraction <= 1) {
		panic(fmt.Sprintf("cruster: Jitter(%v) is not between 0 and 1", fraction))
	}
	return func(o *activityOptions) { o.retry.Jitter = fraction }
}

// Timeout bounds one attempt, from its start to its end.
func Timeout(d time.Duration) ActivityOption {
	checkDuration("Timeout", d)
	return func(o *activityOptions) { o.timeout = int64(d) }
}

// ActivityKey gives a call an identity, for [Activity.With]. Without it the identity is the hash of the input. With it
// the input may change when the module is upgraded, and a replay still finds the journaled result.
func ActivityKey(key string) ActivityOption {
	if key == "" || len(key) > abi.MaxKey {
		panic(fmt.Sprintf("cruster: an activity key has 1 to %d bytes, not %d", abi.MaxKey, len(key)))
	}
	return func(o *activityOptions) { o.key = key }
}

func checkDuration(option string, d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("cruster: %s(%v) must be above zero", option, d))
	}
}
