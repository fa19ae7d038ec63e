package twomodules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/guest-sdk/go/crustertest/internal/billing"
	"github.com/cruster/cruster/guest-sdk/go/crustertest/internal/shop"
)

const below = "github.com/cruster/cruster/guest-sdk/go/crustertest/internal"

var bothModules = []crustertest.Option{
	crustertest.Deploy("shop", below+"/shop"), crustertest.Deploy("billing", below+"/billing"),
}

// Two modules, whose workflows, activities and entities have the same names, call each other.
func TestTwoModules(t *testing.T) {
	t.Parallel()
	e := crustertest.NewEntities(t, bothModules...)
	var h crustertest.History
	got, err := crustertest.Run(
		t, shop.Process, 5, append(bothModules, crustertest.UseEntities(e), crustertest.Record(&h))...,
	)
	require.NoError(t, err)
	require.Equal(t, []string{"shop", "noted by billing in billing/Process/one", "5", "shop/Process/one"}, got)
	require.Equal(
		t, []string{"activity charge", "call billing/Process", "entity_call billing/Ledger/all.add"}, h.Steps(),
	)
	crustertest.Replay(t, &h)

	total, err := crustertest.Call(e, billing.Add, "all", 2)
	require.NoError(t, err)
	require.Equal(t, "7", total)
	kept, found := crustertest.State(e, billing.Ledger, "all")
	require.True(t, found)
	require.Equal(t, 7, kept)
	_, found = crustertest.State(e, shop.Ledger, "all")
	require.False(t, found)
}

// A stub replaces only its own target, not the same name in the other module.
func TestStubsOfOneModule(t *testing.T) {
	t.Parallel()
	stubbed := func(*cruster.ActivityContext, int) (string, error) { return "a stub", nil }
	var h crustertest.History
	got, err := crustertest.Run(
		t,
		shop.Process,
		5,
		append(bothModules, crustertest.Stub(billing.Charge, stubbed), crustertest.Takes(billing.Charge, time.Second),
			crustertest.StubOperation(billing.Add, func(id string, cents int) (string, error) {
				return "added to " + id, nil
			}),
			crustertest.Record(&h),
		)...,
	)
	require.NoError(t, err)
	require.Equal(
		t, []string{"shop", "noted by a stub in billing/Process/one", "added to all", "shop/Process/one"}, got,
	)
	require.Equal(t, time.Second, h.Duration())

	note, err := crustertest.Run(t, billing.Process, 5, bothModules...)
	require.NoError(t, err)
	require.Contains(t, note, "noted by billing in billing/Process/")
	named, err := crustertest.ExecuteNamed("billing/Note", "me", bothModules...)
	require.NoError(t, err)
	require.Equal(t, "noted by me", named)
}

// An ambiguous name is reported, with the choices.
func TestModulesThatAreNotClear(t *testing.T) {
	t.Parallel()
	_, err := crustertest.Run(t, shop.Process, 5)
	require.ErrorContains(t, err, `is registered twice, by `+below)
	require.ErrorContains(t, err, "say with crustertest.Deploy which packages are a module")
	_, err = crustertest.Run(t, shop.Process, 5, crustertest.Deploy("billing", below+"/bilding"))
	require.ErrorContains(t, err, "no package "+below+"/bilding has registered anything; these have: ")
	require.ErrorContains(t, err, below+"/billing")
	_, err = crustertest.Run(
		t, shop.Process, 5, crustertest.Deploy("shop", below+"/shop"), crustertest.Deploy("other", below+"/billing"),
	)
	require.ErrorContains(t, err, `there is no deployment "billing" in this test`)
}
