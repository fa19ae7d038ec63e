package binary

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBoundTables(t *testing.T) {
	t.Parallel()
	tables := []table{
		{typeFuncref, limits{min: 5}},
		{typeExternref, limits{5, 6, true}},
		{typeFuncref, limits{5, 1 << 30, true}},
	}
	m := &Module{}
	require.NoError(t, m.parseSection(sectionTable, boundTables(tables)))
	require.Equal(t, []table{
		{typeFuncref, limits{5, maxTableEntries, true}},
		{typeExternref, limits{5, 6, true}},
		{typeFuncref, limits{5, maxTableEntries, true}},
	}, m.tables)
}
