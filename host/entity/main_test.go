package entity

import (
	"os"
	"testing"

	"github.com/cruster/cruster/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
