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
		Deployment: journal.Deployment{
			Name: "shop", Version: 2, Config: map[string]string{"URL": "u", "TOKEN": "secret"}, UpdatedAt: 1,
		},
		Manifest: &abi.Manifest{
			SDK: "go/0.1.0",
			Workflows: []abi.WorkflowInfo{
				{Name: "Buy", Key: abi.KeyFromRequest},
				{
					Name: "Sell",
					Key:  abi.KeyFromRequest,
					Deferreds: []abi.DeferredInfo{{
						Name: "approve-", Dynamic: true, Value: &abi.Schema{Type: abi.TypeBool},
					}},
				},
				{Name: "Ship", Key: abi.KeyFromRequest, Deferreds: []abi.DeferredInfo{}},
			},
			Activities: []abi.ActivityInfo{
				{Name: "pay", Timeout: int64(time.Second)}, {Name: "ship", Retry: abi.Retry{Retries: 2}},
			},
		},
	})
	require.Equal(t, []string{"TOKEN", "URL"}, d.GetConfigKeys())
	require.NotContains(t, d.String(), "secret")
	require.Equal(t, abi.TypeAny, d.GetWorkflows()[0].GetInput().GetType())
	require.True(t, d.GetWorkflows()[0].GetAnyDeferred(), "its module does not tell")
	sell := d.GetWorkflows()[1]
	require.False(t, sell.GetAnyDeferred())
	require.Equal(t, "approve-", sell.GetDeferreds()[0].GetName())
	require.True(t, sell.GetDeferreds()[0].GetDynamic())
	require.Equal(t, abi.TypeBool, sell.GetDeferreds()[0].GetValue().GetType())
	require.False(t, d.GetWorkflows()[2].GetAnyDeferred())
	require.Equal(t, time.Second, d.GetActivities()[0].GetTimeout().AsDuration())
	require.Nil(t, d.GetActivities()[0].GetFirstPause(), "there are no retries")
	require.Nil(t, d.GetActivities()[1].GetTimeout(), "the host's default")
	require.Equal(t, abi.DefaultBackoff, d.GetActivities()[1].GetFirstPause().AsDuration())
	require.Equal(t, abi.BackoffExponential, d.GetActivities()[1].GetBackoff())

	bare := convert.Deployment(&host.DeploymentInfo{Deployment: journal.Deployment{Name: "gone"}})
	require.Equal(t, "gone", bare.GetName(), "a module without a manifest is listed all the same")
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	s := convert.Schema(&abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{
		{
			Name:     "a",
			Required: true,
			Schema:   &abi.Schema{Type: abi.TypeList, Elem: &abi.Schema{Type: abi.TypeInt, Bits: 32, Nullable: true}},
		},
		{Name: "b"},
	}})
	require.Equal(t, abi.TypeStruct, s.GetType())
	require.True(t, s.GetFields()[0].GetRequired())
	elem := s.GetFields()[0].GetSchema().GetElem()
	require.EqualValues(t, 32, elem.GetBits())
	require.True(t, elem.GetNullable())
	require.Equal(t, abi.TypeAny, s.GetFields()[1].GetSchema().GetType())
}
