package convert_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func TestDeployments(t *testing.T) {
	t.Parallel()
	d := convert.Deployment(&host.DeploymentInfo{
		Deployment: journal.Deployment{Name: "shop", Version: 2, Config: map[string]string{"URL": "u", "TOKEN": "secret"}, UpdatedAt: 1},
		Manifest: &abi.Manifest{
			SDK:        "go/0.1.0",
			Workflows:  []abi.WorkflowInfo{{Name: "Buy", Key: abi.KeyFromRequest}},
			Activities: []abi.ActivityInfo{{Name: "pay", Timeout: int64(time.Second)}, {Name: "ship"}},
		},
	})
	require.Equal(t, []string{"TOKEN", "URL"}, d.GetConfigKeys())
	require.NotContains(t, d.String(), "secret")
	require.Equal(t, abi.TypeAny, d.GetWorkflows()[0].GetInput().GetType())
	require.Equal(t, time.Second, d.GetActivities()[0].GetTimeout().AsDuration())
	require.Nil(t, d.GetActivities()[1].GetTimeout(), "the host's default")

	bare := convert.Deployment(&host.DeploymentInfo{Deployment: journal.Deployment{Name: "gone"}})
	require.Equal(t, "gone", bare.GetName(), "a module without a manifest is listed all the same")
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	s := convert.Schema(&abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{
		{Name: "a", Required: true, Schema: &abi.Schema{Type: abi.TypeList, Elem: &abi.Schema{Type: abi.TypeInt, Bits: 32, Nullable: true}}},
		{Name: "b"},
	}})
	require.Equal(t, abi.TypeStruct, s.GetType())
	require.True(t, s.GetFields()[0].GetRequired())
	elem := s.GetFields()[0].GetSchema().GetElem()
	require.EqualValues(t, 32, elem.GetBits())
	require.True(t, elem.GetNullable())
	require.Equal(t, abi.TypeAny, s.GetFields()[1].GetSchema().GetType())
}
