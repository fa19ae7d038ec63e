package cruster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// The steps of golden_test.go are registered already.
func TestMigrationsRefuseAVersionTwice(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, `cruster: migration 1 is registered twice: "table" and "again"`, func() {
		cruster.Migrations(cruster.Migration{Version: 1, Name: "again", SQL: "SELECT 1"})
	})
	require.PanicsWithValue(t, `cruster: migration 0 "" needs a version above zero and SQL`, func() {
		cruster.Migrations(cruster.Migration{})
	})
}
