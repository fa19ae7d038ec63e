package crustertest_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No coroutine may outlive its execution.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
