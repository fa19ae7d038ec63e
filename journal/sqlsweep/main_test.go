package sqlsweep_test

import (
	"os"
	"testing"

	"github.com/cruster/cruster/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
