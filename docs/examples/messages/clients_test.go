package messages

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

func TestClients(t *testing.T) {
	t.Parallel()
	p := harness.NewProcess(t, "sqlite:"+t.TempDir())
	p.Start()
	c, err := client.Dial(p.GRPC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	ctx := t.Context()
	for _, name := range []string{"bank", "billing"} {
		_, err := c.Push(ctx, client.PushRequest{Name: name, Binary: harness.Module(t, "tests/guests/messages")})
		require.NoError(t, err)
	}
	_, err = client.Workflow[int64, int64](c, "billing/Invoice").WithKeyRaw("42").Start(ctx, 1000)
	require.NoError(t, err)
	require.NoError(t, clients(ctx, c))

	left, err := client.Query[struct{}, int64]("left").Ask(ctx, c, "billing/Invoice/42", struct{}{})
	require.NoError(t, err)
	require.Equal(t, int64(400), left)
	_, err = client.EntityState[Account](ctx, c, "bank/Account/ada")
	require.Equal(t, abi.CodeEntityNotFound, abi.CodeOf(err), "it was destroyed")
}

// clients makes the calls of the Go client that the pages show.
func clients(ctx context.Context, c *client.Client) error {
	paid := client.Signal[Payment]("paid")
	err := paid.Send(ctx, c, "billing/Invoice/42", Payment{Cents: 300}, client.WithRequestID("payment-7"))
	if err != nil {
		return err
	}
	invoice := client.Workflow[int64, int64](c, "billing/Invoice").WithKeyRaw("42")
	run, err := client.SendWithStart(ctx, invoice, 500, paid, Payment{Cents: 300})
	if err != nil {
		return err
	}
	left, err := client.Query[struct{}, int64]("left").Ask(ctx, c, run.Execution(), struct{}{})
	if err != nil || left == 0 {
		return err
	}
	deposit := client.Operation[int64, int64](c, "bank/Account", "deposit")
	cents, err := deposit.On("ada").Call(ctx, 500)
	if err != nil || cents == 0 {
		return err
	}
	err = deposit.On("ada").WithRequestID("payment-7").Send(ctx, 500)
	if err != nil {
		return err
	}
	account, err := client.EntityState[Account](ctx, c, "bank/Account/ada")
	if err != nil || account.Cents == 0 {
		return err
	}
	return c.DestroyEntity(ctx, "bank/Account/ada")
}
