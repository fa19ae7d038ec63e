package cruster_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type goldenItem struct {
	SKU      string            `json:"sku"`
	Quantity int32             `json:"quantity"`
	Labels   map[string]string `json:"labels,omitempty"`
}

type goldenRequest struct {
	ID    string       `json:"id"`
	Items []goldenItem `json:"items"`
	Due   *time.Time   `json:"due,omitempty"`
}

var (
	goldenGroup = cruster.NewGroup("golden", cruster.Retries(3), cruster.ExponentialBackoff(time.Second))

	_ = cruster.NewGroupActivity(
		goldenGroup, "Charge", func(*cruster.ActivityContext, goldenItem) (float64, error) { return 0, nil },
		cruster.Jitter(0.25), cruster.Timeout(30*time.Second),
	)
	_ = cruster.NewGroupActivity(
		goldenGroup,
		"Abort",
		func(*cruster.ActivityContext, cruster.None) (cruster.None, error) {
			return cruster.None{}, nil
		},
		cruster.Retries(0),
	)

	_ = cruster.NewWorkflow("golden.Raw", func(cruster.Context, goldenRequest) ([]byte, error) { return nil, nil },
		cruster.RawKey(func(r goldenRequest) string { return r.ID }))
	_ = cruster.NewWorkflow("golden.Hashed", func(cruster.Context, goldenRequest) (bool, error) { return false, nil },
		cruster.HashedKey(func(r goldenRequest) []string { return []string{r.ID, r.Items[0].SKU} }))
	_ = cruster.NewWorkflow("golden.Default", func(cruster.Context, []uint8) (any, error) { return nil, nil }).
		Accepts(cruster.NewSignal[goldenItem]("golden.packed"), cruster.NewSignal[cruster.None]("golden.closed")).
		Accepts(cruster.NewDeferred[goldenItem]("golden.shipped"), cruster.NewDynamicDeferred[bool]("golden.approve-"))

	goldenEntity = cruster.NewStatefulEntity[goldenItem](
		"golden.Stock", cruster.MailboxCapacity(50), cruster.Concurrency(4),
		cruster.MaxIdleTime(time.Minute), cruster.ShardGroup("warehouse"),
		cruster.MigrateState(func(sku string) (goldenItem, error) { return goldenItem{SKU: sku}, nil }),
	)
	_ = cruster.NewOperation(goldenEntity, "take", func(*cruster.EntityContext, *goldenItem, int32) (int32, error) {
		return 0, nil
	})
	_ = cruster.NewReadOnly(
		goldenEntity, "look",
		func(*cruster.ReadContext, goldenItem, cruster.None) (goldenItem, error) { return goldenItem{}, nil },
	)

	goldenGateway = cruster.NewEntity("golden.Gateway")
	_             = cruster.NewRPC(
		goldenGateway, "submit", func(*cruster.RPCContext, goldenRequest) (string, error) { return "", nil },
		cruster.Persisted(),
	)

	_ = cruster.Migrations(
		cruster.Migration{Version: 2, Name: "index", SQL: "CREATE INDEX i ON t (a)", Dialect: cruster.Postgres},
		cruster.Migration{Version: 1, Name: "table", SQL: "CREATE TABLE t (a TEXT)"},
		cruster.Migration{Version: 2, Name: "index", SQL: "CREATE INDEX i ON t (a)", Dialect: cruster.SQLite},
	)
)

func TestManifestGolden(t *testing.T) {
	t.Parallel()
	m := guest.Default.Manifest()
	golden := abi.Manifest{Migrations: m.Migrations, SDK: m.SDK}
	for _, a := range m.Activities {
		if strings.HasPrefix(a.Name, "golden.") {
			golden.Activities = append(golden.Activities, a)
		}
	}
	for _, w := range m.Workflows {
		if strings.HasPrefix(w.Name, "golden.") {
			golden.Workflows = append(golden.Workflows, w)
		}
	}
	for _, e := range m.Entities {
		if strings.HasPrefix(e.Name, "golden.") {
			golden.Entities = append(golden.Entities, e)
		}
	}
	encoded := abi.MustMarshal(golden)
	canonical, err := abi.Canonical(encoded)
	require.NoError(t, err)
	require.Equal(t, canonical, encoded, "the encoding of a manifest is canonical")

	got, err := json.MarshalIndent(map[string]any{"manifest": golden, "hex": hex.EncodeToString(encoded)}, "", "  ")
	require.NoError(t, err)
	const file = "testdata/manifest.json"
	if *update {
		require.NoError(t, os.WriteFile(file, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got)+"\n", "if the change is intended, run go test ./guest-sdk/go -update")
}

func TestKeyFunctions(t *testing.T) {
	t.Parallel()
	body := abi.MustMarshal(goldenRequest{ID: "42", Items: []goldenItem{{SKU: "apple"}}})
	key := func(name string, body []byte) *abi.Outcome {
		_, out := guest.Default.Start(nil, abi.Invocation{Kind: abi.InvokeKey, Name: name, Body: body}, guest.Options{})
		return out
	}
	require.Equal(t, abi.MustMarshal("42"), key("golden.Raw", body).Value)
	require.Equal(t, abi.MustMarshal([]string{"42", "apple"}), key("golden.Hashed", body).Value)
	require.Equal(t, abi.CodeBadInput, key("golden.Raw", abi.MustMarshal("no struct")).Error.Code)
	require.Equal(
		t, abi.CodeKeyFunction, key("golden.Hashed", abi.MustMarshal(goldenRequest{})).Error.Code, "a panic is caught",
	)
}
