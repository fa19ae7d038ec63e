package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDailyTimesComeOnce counts the times of a year: one a day, whatever is done to the clock.
func TestDailyTimesComeOnce(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo",
	} {
		for _, expression := range []string{"0 0 * * *", "30 0 * * *", "0 2 * * *", "30 2 * * *", "59 23 * * *"} {
			table, err := parseCron(expression, zone)
			require.NoError(t, err)
			count, end := 0, time.Date(2027, 1, 1, 0, 0, 0, 0, table.zone).UnixNano()
			for next := table.Next(
				time.Date(2026, 1, 1, 0, 0, 0, 0, table.zone).UnixNano() - 1,
			); next < end; next = table.Next(next) {
				count++
			}
			require.Equal(t, 365, count, "%s %s", zone, expression)
		}
	}
}
