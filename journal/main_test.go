package journal_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// How long, and how often, tests look for something that is about to happen.
const (
	waitLong = 90 * time.Second
	waitTick = time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
