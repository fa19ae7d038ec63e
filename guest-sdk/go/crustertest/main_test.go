package crustertest_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No coroutine may outlive the execution that it belongs to.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
