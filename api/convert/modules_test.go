package convert_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	"github.com/cruster/cruster/host"
)

func TestModuleReferences(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"":                      "otherwise",
		"latest":                host.Latest,
		strings.Repeat("a", 64): strings.Repeat("a", 64),
		"0a1f":                  "0a1f",
	} {
		got, err := convert.ModuleReference(to, "otherwise")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, to := range []string{
		"Latest", "0", strings.Repeat("A", 64), "abc", strings.Repeat("a", 63) + " ", strings.Repeat("a", 65), "\xff",
	} {
		_, err := convert.ModuleReference(to, "")
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), "%q", to)
	}
}

func TestWorkflowGroups(t *testing.T) {
	t.Parallel()
	for _, workflow := range []string{"orders/", "orders/ProcessOrder"} {
		require.NoError(t, convert.WorkflowGroup(workflow))
	}
	for _, workflow := range []string{
		"", "orders", "/", "/ProcessOrder", "Orders/", "orders/ProcessOrder/42",
		"orders/" + strings.Repeat("x", abi.MaxName+1),
	} {
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(convert.WorkflowGroup(workflow)), "%q", workflow)
	}
}

func TestDeploymentNames(t *testing.T) {
	t.Parallel()
	require.NoError(t, convert.DeploymentName("orders-2"))
	for _, name := range []string{"", "Orders", "a/b", "1", strings.Repeat("a", 64)} {
		require.Equal(t, abi.CodeBadDeployment, abi.CodeOf(convert.DeploymentName(name)), "%q", name)
	}
}
