package usage_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err          error
		helpExplains bool
	}{
		"Errorf": {usage.Errorf("cannot read %s: %w", "x", fs.ErrNotExist), true},
		"Inputf": {usage.Inputf("cannot read %s: %w", "x", fs.ErrNotExist), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mistake *usage.Error
			require.ErrorAs(t, fmt.Errorf("wrapped: %w", tc.err), &mistake)
			require.Equal(t, tc.helpExplains, mistake.HelpExplains())
			require.EqualError(t, mistake, "cannot read x: file does not exist")
			require.ErrorIs(t, tc.err, fs.ErrNotExist)
		})
	}
}
