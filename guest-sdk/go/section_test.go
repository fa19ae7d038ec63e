package cruster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// The examples and tests of sections share a purse.
type purse struct {
	Cents int64 `json:"cents"`
}

var (
	purses = cruster.NewStatefulEntity[purse]("example.Purse")

	putIn = cruster.NewOperation(purses, "put", func(_ *cruster.EntityContext, p *purse, cents int64) (int64, error) {
		p.Cents += cents
		return p.Cents, nil
	})
	lookIn = cruster.NewReadOnly(purses, "look", func(_ *cruster.ReadContext, p purse, _ cruster.None) (int64, error) {
		return p.Cents, nil
	})
)

type give struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Cents int64  `json:"cents"`
}

var giving = cruster.NewWorkflow("example.giving", func(ctx cruster.Context, g give) (bool, error) {
	section, err := cruster.Lock(ctx, purses.ID(g.From), purses.ID(g.To))
	if err != nil {
		return false, err
	}
	has, err := lookIn.On(g.From).Call(ctx, cruster.None{})
	if err != nil || has < g.Cents {
		return false, err // the end of the run is the end of the section
	}
	if _, err := putIn.On(g.From).Call(ctx, -g.Cents); err != nil {
		return false, err
	}
	if _, err := putIn.On(g.To).Call(ctx, g.Cents); err != nil {
		return false, err
	}
	return true, section.Unlock(ctx)
})

func ExampleLock() {
	entities := crustertest.NewEntities(nil)
	_, _ = crustertest.Call(entities, putIn, "ada", 100)
	for range 2 {
		fmt.Println(crustertest.Execute(
			giving, give{From: "ada", To: "bob", Cents: 70}, crustertest.UseEntities(entities),
		))
	}
	bob, _ := crustertest.State(entities, purses, "bob")
	fmt.Println(bob.Cents)
	// Output:
	// true <nil>
	// false <nil>
	// 70
}

// crowd has many executions give to each other in a ring, all at once.
var crowd = cruster.NewWorkflow("test.crowd", func(ctx cruster.Context, n int) (int64, error) {
	name := func(i int) string { return fmt.Sprint("p/", i%n) }
	var all []cruster.Future[bool]
	for i := range n {
		if _, err := putIn.On(name(i)).Call(ctx, 10); err != nil {
			return 0, err
		}
	}
	for i := range 5 * n {
		all = append(
			all,
			giving.Client().WithKey(fmt.Sprint(i)).Go(ctx, give{From: name(i), To: name(i + 1), Cents: int64(i % 7)}),
		)
	}
	if _, err := cruster.All(ctx, all...); err != nil {
		return 0, err
	}
	sum := int64(0)
	for i := range n {
		cents, err := lookIn.On(name(i)).Call(ctx, cruster.None{})
		if err != nil {
			return 0, err
		}
		sum += cents
	}
	return sum, nil
})

func TestSectionsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	sum, h, err := run(t, crowd, 4)
	require.NoError(t, err)
	require.EqualValues(t, 40, sum)
	require.NotEmpty(t, h.Steps())
}

// guarding holds a purse for a minute.
var guarding = cruster.NewWorkflow("test.guarding", func(ctx cruster.Context, id string) (int64, error) {
	section, err := cruster.Lock(ctx, purses.ID(id))
	if err != nil {
		return 0, err
	}
	if err := cruster.Sleep(ctx, time.Minute); err != nil {
		return 0, err
	}
	cents, err := lookIn.On(id).Call(ctx, cruster.None{})
	if err != nil {
		return 0, err
	}
	return cents, section.Unlock(ctx)
})

// disturbing has another execution guard a purse while it reads and sends.
var disturbing = cruster.NewWorkflow("test.disturbing", func(ctx cruster.Context, id string) ([]string, error) {
	guard := guarding.Client().Go(ctx, id)
	start := cruster.Now(ctx)
	if err := cruster.Sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	if err := putIn.On(id).Send(ctx, 5); err != nil {
		return nil, err
	}
	read, err := lookIn.On(id).Call(ctx, cruster.None{})
	if err != nil {
		return nil, err
	}
	waited := cruster.Now(ctx).Sub(start)
	seen, err := guard.Await(ctx)
	return []string{fmt.Sprint(read), waited.String(), fmt.Sprint(seen)}, err
})

func TestOthersWaitForASection(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, disturbing, "guarded")
	require.NoError(t, err)
	require.Equal(t, []string{"5", "1m0s", "0"}, got, "the message and the read wait in their order")
}

// hasty locks while it waits for a call.
var hasty = cruster.NewWorkflow("test.hasty", func(ctx cruster.Context, _ cruster.None) (string, error) {
	call := putIn.On("hasty").Go(ctx, 1)
	_, err := cruster.Lock(ctx, purses.ID("hasty"))
	code := cruster.ErrorCode(err)
	_, err = call.Await(ctx)
	return code, err
})

func TestALockWaitsForNoCall(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, hasty, cruster.None{})
	require.NoError(t, err)
	require.Equal(t, "CR-6012", got)
}

// impatientLock gives up on a lock: any entity it locked is free again.
var impatientLock = cruster.NewWorkflow("test.impatientLock", func(ctx cruster.Context, id string) (string, error) {
	if _, err := guarding.Client().Start(ctx, id); err != nil {
		return "", err
	}
	if err := cruster.Sleep(ctx, time.Second); err != nil {
		return "", err
	}
	locking := cruster.Go(ctx, func(ctx cruster.Context) error {
		_, err := cruster.Lock(ctx, purses.ID(id), purses.ID("a"), purses.ID("z"))
		return err
	})
	_, err := locking.Await(cruster.Shield(ctx))
	if _, err := guarding.Client().Execute(cruster.Shield(ctx), id); err != nil {
		return "", err
	}
	_, free := putIn.On("a").Call(cruster.Shield(ctx), 1)
	return fmt.Sprint(err, ", ", free), nil
})

func TestALockThatIsGivenUp(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, impatientLock, "m", crustertest.InterruptAfter(10*time.Second, "enough"))
	require.NoError(t, err)
	require.Equal(t, "the execution was asked to stop, <nil>", got)
}
