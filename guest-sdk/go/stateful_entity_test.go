package cruster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

type bankAccount struct {
	Cents int64    `json:"cents"`
	Book  []string `json:"book"`
}

var (
	accounts = cruster.NewStatefulEntity[bankAccount](
		"test.Account", cruster.MailboxCapacity(50), cruster.Concurrency(4),
		cruster.MaxIdleTime(time.Hour), cruster.ShardGroup("ledger"),
	).
		OnCreate(func(ctx *cruster.EntityContext, a *bankAccount) error {
			if ctx.ID() == "forbidden" {
				return cruster.Errorf("forbidden", "no account for you")
			}
			a.Book = []string{"opened for " + ctx.ID()}
			return nil
		})

	deposit = cruster.NewOperation(
		accounts,
		"deposit",
		func(_ *cruster.EntityContext, a *bankAccount, cents int64) (int64, error) {
			a.Cents += cents
			a.Book = append(a.Book, fmt.Sprint("deposit ", cents))
			if cents == 13 {
				panic("unlucky")
			}
			return a.Cents, nil
		},
	)

	withdraw = cruster.NewOperation(
		accounts,
		"withdraw",
		func(_ *cruster.EntityContext, a *bankAccount, cents int64) (int64, error) {
			a.Cents -= cents
			a.Book[0] = "overwritten"
			if a.Cents < 0 {
				return 0, cruster.WithDetails(cruster.Errorf("overdrawn", "%d cents are missing", -a.Cents), a.Cents)
			}
			return a.Cents, nil
		},
	)

	// pay moves money to another bankAccount, and has the payment noted.
	pay = cruster.NewOperation(
		accounts,
		"pay",
		func(ctx *cruster.EntityContext, a *bankAccount, p pair) (cruster.None, error) {
			a.Cents -= int64(p.A)
			if err := deposit.On(p.B).Send(ctx, int64(p.A)); err != nil {
				return cruster.None{}, err
			}
			if err := note.Client().StartFrom(ctx, p); err != nil {
				return cruster.None{}, err
			}
			ctx.Logger().Info("paid", "to", p.B)
			if a.Cents < 0 {
				return cruster.None{}, errors.New("not enough")
			}
			return cruster.None{}, nil
		},
	)

	closing = cruster.NewOperation(
		accounts,
		"close",
		func(ctx *cruster.EntityContext, a *bankAccount, _ cruster.None) (int64, error) {
			ctx.Destroy()
			return a.Cents, nil
		},
	)

	balance = cruster.NewReadOnly(
		accounts,
		"balance",
		func(ctx *cruster.ReadContext, a bankAccount, _ cruster.None) (string, error) {
			currency, _ := ctx.Config("currency")
			return fmt.Sprint(a.Cents, currency, " ", ctx.ID(), " ", ctx.Namespace(), " ", len(a.Book)), nil
		},
	)

	notes = cruster.NewStatefulEntity[[]string]("test.Notes")

	addNote = cruster.NewOperation(notes, "add", func(_ *cruster.EntityContext, n *[]string, text string) (int, error) {
		*n = append(*n, text)
		return len(*n), nil
	})

	note = cruster.NewWorkflow("test.note", func(ctx cruster.Context, p pair) (int, error) {
		return addNote.On("all").Call(ctx, fmt.Sprint("paid ", p.A, " to ", p.B))
	})
)

func TestOperations(t *testing.T) {
	t.Parallel()
	e := crustertest.NewEntities(t, crustertest.Config("currency", " EUR"))
	seen, err := crustertest.Call(e, balance, "ada", cruster.None{})
	require.NoError(t, err)
	require.Equal(t, "0 EUR ada test 1", seen, "as a new one would be")
	require.Empty(t, e.Names(), "a look creates nothing")

	cents, err := crustertest.Call(e, deposit, "ada", 500)
	require.NoError(t, err)
	require.Equal(t, int64(500), cents)
	_, err = crustertest.Call(e, withdraw, "ada", 501)
	require.Equal(t, string(abi.CodeOperationFailed), cruster.ErrorCode(err))
	require.Equal(t, "overdrawn", cruster.ErrorType(err))
	require.ErrorContains(t, err, "1 cents are missing")
	missing, _ := cruster.Details[int64](err)
	require.Equal(t, int64(-1), missing)
	_, err = crustertest.Call(e, deposit, "ada", 13)
	require.Equal(t, string(abi.CodeOperationCrashed), cruster.ErrorCode(err))
	require.ErrorContains(t, err, "unlucky")

	state, ok := crustertest.State(e, accounts, "ada")
	require.True(t, ok)
	require.Equal(
		t, bankAccount{Cents: 500, Book: []string{"opened for ada", "deposit 500"}}, state,
		"what failed has changed nothing",
	)

	left, err := crustertest.Call(e, closing, "ada", cruster.None{})
	require.NoError(t, err)
	require.Equal(t, int64(500), left)
	require.Empty(t, e.Names())
	_, err = crustertest.Call(e, deposit, "ada", 1)
	require.NoError(t, err)
	state, _ = crustertest.State(e, accounts, "ada")
	require.Equal(t, int64(1), state.Cents, "it begins anew")

	_, err = crustertest.Call(e, deposit, "forbidden", 1)
	require.Equal(t, "forbidden", cruster.ErrorType(err))
	require.Equal(t, []string{"test/test.Account/ada"}, e.Names())
}

func TestWhatAnOperationSends(t *testing.T) {
	t.Parallel()
	e := crustertest.NewEntities(t)
	_, err := crustertest.Call(e, pay, "ada", pair{A: 5, B: "bob/1"})
	require.ErrorContains(t, err, "not enough")
	require.Empty(t, e.Names(), "what failed has sent nothing")
	_, err = crustertest.Call(e, deposit, "ada", 5)
	require.NoError(t, err)
	_, err = crustertest.Call(e, pay, "ada", pair{A: 5, B: "bob/1"})
	require.NoError(t, err)
	require.Equal(t, []string{"test/test.Account/ada", "test/test.Account/bob/1", "test/test.Notes/all"}, e.Names())
	bob, _ := crustertest.State(e, accounts, "bob/1")
	require.Equal(t, int64(5), bob.Cents)
	noted, _ := crustertest.State(e, notes, "all")
	require.Equal(t, []string{"paid 5 to bob/1"}, noted)
}

// banking calls entities in all ways.
var banking = cruster.NewWorkflow("test.banking", func(ctx cruster.Context, id string) ([]string, error) {
	var got []string
	note := func(v any, err error) { got = append(got, fmt.Sprint(v, " ", cruster.ErrorCode(err))) }
	note(deposit.On(id).Call(ctx, 100))
	note(nil, deposit.On(id).Send(ctx, 20))
	note(withdraw.On(id).Call(ctx, 200))
	note(balance.On(id).Call(ctx, cruster.None{}))
	both := []cruster.Future[int64]{deposit.On(id).Go(ctx, 1), deposit.On(id).Go(ctx, 2)}
	sums, err := cruster.All(ctx, both...)
	note(sums, err)
	note(deposit.On("").Call(ctx, 1))
	note(cruster.RemoteOperation[string, int64]("test/test.Account", "deposit").On(id).Call(ctx, "text"))
	note(cruster.RemoteOperation[int64, int64]("test/test.Account", "missing").On(id).Call(ctx, 1))
	note(cruster.RemoteOperation[int64, int64]("test/missing", "deposit").On(id).Call(ctx, 1))
	note(cruster.RemoteOperation[int64, int64]("bank/Account", "deposit").On(id).Call(ctx, 1))
	note(nil, cruster.RemoteOperation[int64, int64]("test/missing", "deposit").On(id).Send(ctx, 1))
	return got, deposit.On("other/one").Send(ctx, 7)
})

func TestOperationsInWorkflows(t *testing.T) {
	t.Parallel()
	e := crustertest.NewEntities(t)
	got, h, err := run(t, banking, "ada", crustertest.UseEntities(e))
	require.NoError(t, err)
	require.Equal(t, []string{
		"100 ", "<nil> ", "0 " + string(abi.CodeOperationFailed), "120 ada test 3 ", "[121 123] ",
		"0 " + string(abi.CodeEntityName), "0 " + string(abi.CodeOperationInput),
		"0 " + string(abi.CodeUnknownOperation),
		"0 " + string(abi.CodeUnknownEntity), "0 " + string(abi.CodeDeploymentNotFound),
		"<nil> " + string(abi.CodeUnknownEntity),
	}, got)
	require.Equal(t, "entity_call test.Account/ada.deposit", h.Steps()[0])
	require.Contains(t, h.Steps(), "entity_send test/test.Account/other/one.deposit")
	other, ok := crustertest.State(e, accounts, "other/one")
	require.True(t, ok, "what was sent takes effect after the end")
	require.Equal(t, int64(7), other.Cents)

	var asked string
	got, err = crustertest.Run(
		t,
		banking,
		"ada",
		crustertest.StubOperation(deposit, func(id string, cents int64) (int64, error) {
			asked += fmt.Sprint(id, " ", cents, ",")
			return 42, nil
		}),
		crustertest.StubOperation(
			cruster.RemoteOperation[int64, int64]("bank/Account", "deposit"),
			func(string, int64) (int64, error) {
				return 0, errors.New("closed")
			},
		),
	)
	require.NoError(t, err)
	require.Equal(t, "42 ", got[0])
	require.Equal(t, "0 "+string(abi.CodeOperationFailed), got[9])
	require.Equal(t, "ada 100,ada 20,ada 1,ada 2,other/one 7,", asked)
}

type (
	profileV0 struct {
		Name string `json:"name"`
	}
	profileV1 struct {
		First string `json:"first"`
		Last  string `json:"last"`
	}
	profileV2 struct {
		Names []string `json:"names"`
	}
)

var (
	profiles = cruster.NewStatefulEntity[profileV2]("test.Profile",
		cruster.MigrateState(func(old profileV0) (profileV1, error) {
			if old.Name == "" {
				return profileV1{}, errors.New("there is no name")
			}
			return profileV1{First: old.Name}, nil
		}),
		cruster.MigrateState(func(old profileV1) (profileV2, error) {
			return profileV2{Names: []string{old.First, old.Last}}, nil
		}))

	rename = cruster.NewOperation(
		profiles,
		"rename",
		func(_ *cruster.EntityContext, p *profileV2, name string) ([]string, error) {
			p.Names[0] = name
			return p.Names, nil
		},
	)
)

func TestStatesAreMigrated(t *testing.T) {
	t.Parallel()
	e := crustertest.NewEntities(t)
	crustertest.SetState(e, profiles, "0", 0, profileV0{Name: "Ada"})
	crustertest.SetState(e, profiles, "1", 1, profileV1{First: "Ada", Last: "L"})
	crustertest.SetState(e, profiles, "2", 2, profileV2{Names: []string{"Ada", "L", "B"}})
	for id, want := range map[string][]string{"0": {"Eve", ""}, "1": {"Eve", "L"}, "2": {"Eve", "L", "B"}} {
		for range 2 {
			names, err := crustertest.Call(e, rename, id, "Eve")
			require.NoError(t, err)
			require.Equal(t, want, names)
		}
	}
	crustertest.SetState(e, profiles, "bad", 0, profileV0{})
	_, err := crustertest.Call(e, rename, "bad", "Eve")
	require.ErrorContains(t, err, "the state of test/test.Profile/bad, version 0, cannot be migrated: there is no name")
	crustertest.SetState(e, profiles, "new", 3, profileV2{})
	_, err = crustertest.Call(e, rename, "new", "Eve")
	require.Equal(t, string(abi.CodeStateVersion), cruster.ErrorCode(err))
}

func TestMistakesInTheDeclarationOfEntities(t *testing.T) {
	t.Parallel()
	type read = func(*cruster.ReadContext, bankAccount, int) (int, error)
	migrate := cruster.MigrateState(func(bool) (int, error) { return 0, nil })
	for want, declare := range map[string]func(){
		`cruster: entity "test.Account" is registered twice`: func() { cruster.NewEntity("test.Account") },
		`cruster: operation "deposit" of entity test.Account is registered twice`: func() {
			cruster.NewReadOnly(accounts, "deposit", read(nil))
		},
		`cruster: entity test.Account: OnCreate is called twice`: func() { accounts.OnCreate(nil) },
		`cruster: entity name "a/b" may hold only letters, digits, '_', '-' and '.'`: func() {
			cruster.NewStatefulEntity[int]("a/b")
		},
		`cruster: entity x has no state to migrate`: func() { cruster.NewEntity("x", migrate) },
		`cruster: entity x: the migration from version 0 returns int, and version 1 is string`: func() {
			cruster.NewStatefulEntity[string]("x", migrate)
		},
		`cruster: Concurrency(0) must be above zero`:  func() { cruster.Concurrency(0) },
		`cruster: MaxIdleTime(0s) must be above zero`: func() { cruster.MaxIdleTime(0) },
		`cruster: entity test.Gateway does not include group test.Unused, which has operation test.Unused.x`: func() {
			unusedRPC.Of(gateway)
		},
		`cruster: entity test.Gateway includes group test.Health twice`: func() { gateway.Include(health) },
	} {
		require.PanicsWithValue(t, want, declare)
	}
}
