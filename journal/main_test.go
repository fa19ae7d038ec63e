package journal_test

import (
	"os"
	"testing"
	"time"

	"github.com/cruster/cruster/internal/leaktest"
)

// How long, and how often, tests look for something that is about to happen.
const (
	waitLong = 15 * time.Minute
	waitTick = time.Millisecond
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
