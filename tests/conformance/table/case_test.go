package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable checks the table itself: names are unique, because they are keys, most cases run in every language, and a
// case says how it ends.
func TestTable(t *testing.T) {
	t.Parallel()
	keys, shared := map[string]bool{}, 0
	for _, c := range Load() {
		require.NotEmpty(t, c.Name)
		require.NotEmpty(t, c.Workflow, c.Name)
		require.False(t, keys[c.Key()], "two cases are named %q", c.Name)
		keys[c.Key()] = true
		if c.Only == "" {
			shared++
		}
		require.Equal(
			t, c.State != "", c.Error != nil, "%s: an error and a state that is not completed come together", c.Name,
		)
		for _, s := range append(c.Steps, c.Then...) {
			require.Equal(t, 1, s.actions(), "%s: a step does one thing", c.Name)
			require.Equal(
				t, s.Query+s.Update != "" && s.Refused == "", !s.Answer.IsZero(),
				"%s: a query or an update has an answer, or is refused", c.Name,
			)
			require.False(t, s.Later && s.Update == "", "%s: only an update is answered later", c.Name)
		}
	}
	require.GreaterOrEqual(t, shared, 200)
}

func (s *Step) actions() int {
	n := 0
	for _, name := range []string{
		s.Resolve, s.Reject, s.Interrupt, s.Signal, s.Query, s.Open, s.Start, s.Call, s.Send, s.Update,
	} {
		if name != "" {
			n++
		}
	}
	if s.Published != nil {
		n++
	}
	return n
}
