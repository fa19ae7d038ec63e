package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// Reasons that are all different do not fill the screen.
func TestKindsOfMisfitsAreBounded(t *testing.T) {
	t.Parallel()
	var m Misfits
	for i := range 100 {
		m.Add(
			&crusterv1.Execution{Name: fmt.Sprint("shop/Buy/", i), Workflow: "shop/Buy"}, fmt.Sprint("reason ", i), nil,
		)
	}
	m.Add(&crusterv1.Execution{Name: "shop/Buy/more", Workflow: "shop/Buy"}, "reason 7", nil)
	require.Len(t, m.Kinds(), maxKinds)
	require.Equal(t, "reason 7", m.Kinds()[0].Reason, "the most frequent is first")
	var text strings.Builder
	require.NoError(t, m.Write(&text))
	require.Contains(t, text.String(), "2 executions differ like this; the first is shop/Buy/7\n")
	require.Contains(t, text.String(), "and 80 executions that differ in other ways\n")
}
