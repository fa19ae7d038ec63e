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

func TestEntity(t *testing.T) {
	t.Parallel()
	p := convert.Entity(&journal.Entity{
		Namespace: "n", Type: "bank/Account", Key: "a/b", Version: 3, State: []byte{1}, CreatedAt: 1e9, UpdatedAt: 2e9,
	})
	require.Equal(t, "bank/Account/a/b", p.GetName())
	require.Equal(t, []string{"n", "bank/Account", "a/b"}, []string{p.GetNamespace(), p.GetType(), p.GetId()})
	require.EqualValues(t, 3, p.GetStateVersion())
	require.Equal(t, time.Unix(1, 0).UTC(), p.GetCreateTime().AsTime())
	require.Equal(t, time.Unix(2, 0).UTC(), p.GetUpdateTime().AsTime())
}

func TestEntityInfo(t *testing.T) {
	t.Parallel()
	d := convert.Deployment(&host.DeploymentInfo{Manifest: &abi.Manifest{Entities: []abi.EntityInfo{
		{
			Name:         "Account",
			State:        &abi.Schema{Type: abi.TypeInt},
			StateVersion: 2,
			Operations:   []abi.OperationInfo{{Name: "balance", ReadOnly: true}},
		},
		{Name: "Gateway", Operations: []abi.OperationInfo{{Name: "rename", Persisted: true}}},
	}}})
	require.Len(t, d.GetEntities(), 2)
	account, gateway := d.GetEntities()[0], d.GetEntities()[1]
	require.Equal(t, abi.TypeInt, account.GetState().GetType())
	require.True(t, account.GetOperations()[0].GetReadOnly())
	require.Nil(t, gateway.GetState())
	require.True(t, gateway.GetOperations()[0].GetPersisted())
}
