package tour

import (
	"testing"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

// TestPublished reads the values that a workflow on a host has published.
func TestPublished(t *testing.T) {
	t.Parallel()
	p := harness.NewProcess(t, "sqlite:"+t.TempDir())
	p.Start()
	c, err := client.Dial(p.GRPC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	ctx := t.Context()
	_, err = c.Push(ctx, client.PushRequest{Name: "shop", Binary: harness.Module(t, "tests/guests/tour")})
	require.NoError(t, err)
	_, err = client.Workflow[string, int64](c, "shop/Basket").WithKeyRaw("ada").Start(ctx, "ada")
	require.NoError(t, err)
	cents, err := client.Update[Order, int64]("add_item").Call(ctx, c, "shop/Basket/ada", Order{ID: "tea", Cents: 300})
	require.NoError(t, err)
	require.Equal(t, int64(300), cents)

	stage, there, err := client.Published[string]("stage").Of(ctx, c, "shop/Basket/ada")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "open", stage)
}
