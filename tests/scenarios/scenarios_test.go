package scenarios

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type object = map[string]any

// world is a host with the modules of one language, on a store.
type world struct {
	t     *testing.T
	store journal.Store
	*host.Engine
}

// each runs a scenario in both languages and on both stores.
func each(t *testing.T, folder string, scenario func(w *world)) {
	t.Parallel()
	harness.EachSetting(t, func(t *testing.T, below string, store journal.Store) {
		w := &world{t: t, store: store, Engine: harness.Engine(t, store)}
		harness.Push(t, w.Engine, "s", folder+below)
		scenario(w)
	})
}

// replace stops the host, and goes on with another one.
func (w *world) replace() {
	w.t.Helper()
	require.NoError(w.t, w.Stop(w.t.Context()))
	w.Engine = harness.Engine(w.t, w.store)
}

// call calls an entity under a request id.
func call[T any](w *world, entity, operation, request string, input any) T {
	w.t.Helper()
	outcome, err := w.Entities().Call(w.t.Context(), host.EntityRequest{
		Entity: "s/" + entity, Operation: operation, RequestID: request, Input: harness.Encode(w.t, input),
	})
	require.NoError(w.t, err)
	require.Nil(w.t, outcome.Error)
	return harness.Decode[T](w.t, outcome.Value)
}

func TestCounterInSQL(t *testing.T) {
	each(t, "tests/guests/scenarios", func(w *world) {
		for i, request := range []string{"1", "2", "2", "3"} {
			want := []int64{5, 10, 10, 15}[i]
			require.Equal(
				w.t, want, call[int64](w, "Counter/a", "increment", request, 5),
				"a request that is repeated counts once",
			)
		}
		w.replace()
		require.Equal(w.t, int64(15), call[int64](w, "Counter/a", "increment", "3", 5), "also by another host")
		require.Equal(w.t, int64(15), call[int64](w, "Counter/a", "get", "", object{}))
		require.Equal(w.t, int64(0), call[int64](w, "Counter/b", "get", "", object{}))
		outcome, err := w.Entities().Call(w.t.Context(), host.EntityRequest{
			Entity: "s/Counter/a", Operation: "increment", Input: harness.Encode(w.t, 0),
		})
		require.NoError(w.t, err)
		require.Equal(w.t, "nothing", outcome.Error.Type)
	})
}

func TestKeyValueStore(t *testing.T) {
	each(t, "tests/guests/scenarios", func(w *world) {
		type found struct {
			Found bool   `msgpack:"found"`
			Value string `msgpack:"value"`
		}
		for i, p := range []object{{"key": "b", "value": "1"}, {"key": "a", "value": "2"}, {"key": "b", "value": "3"}} {
			require.True(w.t, call[bool](w, "KV/main", "set", strconv.Itoa(i), p))
		}
		require.Equal(w.t, found{true, "3"}, call[found](w, "KV/main", "get", "", "b"))
		require.Equal(w.t, found{}, call[found](w, "KV/other", "get", "", "b"), "stores do not see each other")
		w.replace()
		require.Equal(w.t, []string{"a", "b"}, call[[]string](w, "KV/main", "keys", "", object{}))
		for range 2 {
			require.True(w.t, call[bool](w, "KV/main", "delete", "gone", "b"), "the second is the same request")
		}
		require.False(w.t, call[bool](w, "KV/main", "delete", "again", "b"))
		require.Equal(w.t, []string{"a"}, call[[]string](w, "KV/main", "keys", "", object{}))
	})
}

func TestEntitiesShareRPCs(t *testing.T) {
	each(t, "tests/guests/scenarios", func(w *world) {
		for _, entity := range []string{"Counter/a", "KV/a", "Clock/a"} {
			require.Equal(w.t, "a is well", call[string](w, entity, "Health.check", "", object{}))
		}
	})
}

func TestTimers(t *testing.T) {
	each(t, "tests/guests/scenarios", func(w *world) {
		start := func(name string, ms int) string {
			row, existed, err := w.Launcher().Start(w.t.Context(), host.StartRequest{
				Workflow: "s/Schedule", Input: harness.Encode(w.t, object{"clock": "c", "name": name, "ms": ms}),
			})
			require.NoError(w.t, err)
			require.False(w.t, existed)
			return row.Name()
		}
		timers := func(state string) []string { return call[[]string](w, "Clock/c", "timers", "", state) }
		soon, later, never := start("soon", 1), start("later", 1500), start("never", 3_600_000)
		harness.Eventually(w.t, "the timers are set", func() bool {
			return len(timers("pending"))+len(timers("fired")) == 3
		})
		require.True(w.t, harness.Decode[bool](w.t, harness.Wait(w.t, w.Engine, soon).Value))
		require.True(w.t, call[bool](w, "Clock/c", "cancel", "cancel", "never"))
		w.replace() // which does not matter to waiters
		require.True(w.t, harness.Decode[bool](w.t, harness.Wait(w.t, w.Engine, later).Value))
		require.NoError(w.t, w.Executions().Interrupt(w.t.Context(), "", never, "the test is over"))
		require.Equal(w.t, journal.Interrupted, harness.Wait(w.t, w.Engine, never).State)
		require.Equal(w.t, []string{"later", "soon"}, timers("fired"))
		require.Equal(w.t, []string{"never"}, timers("cancelled"))
	})
}

// TestMessagesBetweenEntities: a post to a room reaches the inboxes of all members, each
// message once and in order, while hosts come and go.
func TestMessagesBetweenEntities(t *testing.T) {
	each(t, "modules/examples/chat", func(w *world) {
		type message struct {
			Number int64  `msgpack:"number"`
			Text   string `msgpack:"text"`
		}
		for _, name := range []string{"ada", "bob"} {
			call[int64](w, "Room/lobby", "join", name, name)
		}
		for i := range 20 {
			call[int64](w, "Room/lobby", "post", strconv.Itoa(i), object{"from": "ada", "text": strconv.Itoa(i)})
			if i%7 == 6 {
				w.replace()
			}
		}
		for _, name := range []string{"ada", "bob"} {
			var got []message
			harness.Eventually(w.t, "all messages have arrived", func() bool {
				got = append(got, call[[]message](w, "Inbox/"+name, "read", "", object{})...)
				return len(got) >= 20
			})
			for i, m := range got {
				require.Equal(w.t, message{int64(i + 1), strconv.Itoa(i)}, m)
			}
		}
	})
}

// TestLimiter: of many callers at once as many are let through as there are permits.
func TestLimiter(t *testing.T) {
	each(t, "modules/examples/limiter", func(w *world) {
		require.True(w.t, call[bool](w, "Limiter/ada", "configure", "", object{"capacity": 7, "every_ms": 3_600_000}))
		allowed := make(chan bool, 20)
		for range cap(allowed) {
			go func() {
				outcome, err := w.Entities().Call(w.t.Context(), host.EntityRequest{
					Entity: "s/Limiter/ada", Operation: "take", Input: harness.Encode(w.t, 1),
				})
				allowed <- err == nil && outcome.Error == nil &&
					harness.Decode[object](w.t, outcome.Value)["allowed"] == true
			}()
		}
		n := 0
		for range cap(allowed) {
			if <-allowed {
				n++
			}
		}
		require.Equal(w.t, 7, n)
	})
}
