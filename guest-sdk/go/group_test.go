package cruster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

var (
	testGroup = cruster.NewGroup("TestGroup", cruster.Retries(3), cruster.Timeout(time.Minute))

	groupStep = cruster.NewGroupActivity(
		testGroup, "step", func(*cruster.ActivityContext, int) (int, error) { return 0, nil },
		cruster.Timeout(time.Second),
	)
)

func TestGroupActivity(t *testing.T) {
	t.Parallel()
	require.Equal(t, "TestGroup.step", groupStep.Name())
	registered, ok := guest.Default.Activity("TestGroup.step")
	require.True(t, ok)
	require.EqualValues(t, 3, registered.Retry.Retries, "an option of the group")
	require.Equal(t, int64(time.Second), registered.Timeout, "an option of the activity overrides that of the group")
}
