package examples

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

// kills are the scenarios of [TestKilled].
var kills = []struct {
	example  string
	scenario func(*victim)
}{
	{"billing", killBilling},
	{"crawl", killCrawl},
	{"imports", killImports},
	{"libraries", killLibraries},
	{"quorum", killQuorum},
	{"saga", killSaga},
}

// TestKilled: six real workflows, each in Go and in Rust, and on both stores. The host is killed with -9
// in the middle of each, and their effects are counted in the end: nothing is missing and
// nothing happened twice. No attempt meets more than two kills: the host would take it for an attempt that
// takes hosts down with it.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, c := range extenttest.Combinations(len(kills), len(harness.Languages), len(harness.StoreKinds)) {
		runKilled(t, kills[c[0]].example, c[1], c[2], kills[c[0]].scenario)
	}
}

// runKilled runs a scenario with an example in a language, on a store.
func runKilled(t *testing.T, example string, language, store int, scenario func(*victim)) {
	in, kind := harness.Languages[language], harness.StoreKinds[store]
	t.Run(example+"/"+in.Name+"/"+kind, func(t *testing.T) {
		t.Parallel()
		v := newVictim(t, kind)
		v.folder = "modules/examples/" + example + in.Below
		scenario(v)
	})
}

func newVictim(t *testing.T, kind string) *victim {
	if kind == "sqlite" {
		dir := t.TempDir()
		return &victim{t: t, p: harness.NewProcess(t, "sqlite:"+dir), open: func() (journal.Store, error) {
			return sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		}}
	}
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	return &victim{t: t, p: harness.NewProcess(t, dsn, "--schema", schema), open: func() (journal.Store, error) {
		return postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema})
	}}
}

// victim is a host that is killed, with one module.
type victim struct {
	*client.Client
	t      *testing.T
	folder string
	p      *harness.Process
	open   func() (journal.Store, error)
}

// begin starts the host and pushes the module.
func (v *victim) begin(name string, config map[string]string, allowHTTP ...string) {
	v.p.Start()
	var err error
	v.Client, err = client.Dial(v.p.GRPC, client.WithRetryFor(harness.Patience))
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = v.Close() })
	_, err = v.Push(v.t.Context(), client.PushRequest{
		Name: name, Binary: harness.Module(v.t, v.folder), Config: config, AllowHTTP: allowHTTP,
	})
	require.NoError(v.t, err)
}

// kill kills the host and starts it again.
func (v *victim) kill() {
	v.p.Kill()
	v.p.Start()
}

// killAfter kills the host once an execution has so many entries in its journal.
func (v *victim) killAfter(execution string, entries uint64) {
	harness.Eventually(v.t, fmt.Sprintf("%s has %d entries", execution, entries), func() bool {
		page, err := v.Workflows().ListHistory(v.t.Context(), &crusterv1.ListHistoryRequest{
			Execution: execution, After: entries - 1,
		})
		require.NoError(v.t, err)
		return len(page.GetEntries()) > 0
	})
	v.kill()
}

// killWhen kills the host when a counter has come so far.
func (v *victim) killWhen(counter *atomic.Int64, at int64) {
	harness.Eventually(v.t, fmt.Sprintf("%d effects", at), func() bool { return counter.Load() >= at })
	v.kill()
}

// killDuring is killWhen of an execution, and tells whether that was not over before.
func (v *victim) killDuring(over func() bool, counter *atomic.Int64, at int64) (killed bool) {
	harness.Eventually(v.t, fmt.Sprintf("%d effects, or the end", at), func() bool {
		killed = counter.Load() >= at
		return killed || over()
	})
	if killed {
		v.kill()
	}
	return killed
}

// rows reads tables of the module, once the host is gone.
func (v *victim) rows(queries ...string) [][]string {
	return v.rowsIn(host.DefaultNamespace, queries...)
}

// rowsIn reads tables of the module in a namespace, once the host is gone.
func (v *victim) rowsIn(namespace string, queries ...string) (all [][]string) {
	v.p.Kill()
	s, err := v.open()
	require.NoError(v.t, err)
	defer func() { require.NoError(v.t, s.Close()) }()
	tx, err := s.BeginGuest(v.t.Context(), namespace)
	require.NoError(v.t, err)
	defer func() { require.NoError(v.t, tx.Rollback(context.Background())) }()
	for _, sql := range queries {
		_, rows, err := tx.Query(v.t.Context(), sql, nil)
		require.NoError(v.t, err)
		found := []string{}
		for _, row := range rows {
			found = append(found, strings.Trim(fmt.Sprint(row), "[]"))
		}
		all = append(all, found)
	}
	return all
}

// killBilling: a subscription is charged for each period once, over continuations and a change of
// its plan.
func killBilling(v *victim) {
	v.begin("billing", nil)
	run, err := client.Workflow[object, object](v.Client, "billing/Billing").Start(v.t.Context(), object{
		"customer": "ada", "cents": 500, "period_ms": 1,
	})
	require.NoError(v.t, err)
	charged := func(at int64) {
		harness.Eventually(v.t, fmt.Sprintf("%d periods are charged", at), func() bool {
			n, _, err := client.Published[int64]("charged").Of(v.t.Context(), v.Client, run.Execution())
			require.NoError(v.t, err)
			return n >= at
		})
	}
	for _, at := range []int64{40, 120} {
		charged(at)
		v.kill()
	}
	require.NoError(
		v.t, client.Signal[object]("change_plan").Send(v.t.Context(), v.Client, run.Execution(), object{"cents": 700}),
	)
	v.kill()
	// 260 are three runs that continue each other. In full the host is killed twenty times.
	for last, at := int64(extenttest.Sized(10_000, 260)), int64(260); ; at = min(at+500, last) {
		charged(at)
		if at == last {
			break
		}
		v.kill()
	}
	require.NoError(
		v.t,
		client.Signal[object]("cancel").Send(v.t.Context(), v.Client, run.Execution(), object{"reason": "moved away"}),
	)
	v.kill()
	result, err := run.Wait(v.t.Context())
	require.NoError(v.t, err)
	require.Equal(v.t, "moved away", result["reason"])
	tables := v.rows(`SELECT count(*), count(DISTINCT period), min(period), max(period) FROM billing_charges`,
		`SELECT DISTINCT cents FROM billing_charges ORDER BY cents`,
		`SELECT count(*) FROM billing_charges a, billing_charges b WHERE a.cents = 700 AND b.cents = 500
			AND a.period < b.period`)
	n := fmt.Sprint(result["charged"])
	require.Equal(v.t, [][]string{{n + " " + n + " 1 " + n}, {"500", "700"}, {"0"}}, tables)
}

// killCrawl: 200 pages, ten at a time. Some do not answer before the deadline. Each page that the
// result counts has one row. A crawl that was over before the second kill is made again, with more time,
// at most four times in all.
func killCrawl(v *victim) {
	const pages, hanging = 200, 10
	var asked atomic.Int64
	ctx, release := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case strings.HasPrefix(r.URL.Path, "/hanging"):
			select {
			case <-r.Context().Done():
			case <-ctx.Done():
			}
		case r.URL.Path == "/page/7":
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte("page"))
		}
	}))
	v.t.Cleanup(server.Close)
	v.t.Cleanup(release)
	v.begin("crawl", nil, strings.TrimPrefix(server.URL, "http://"))
	urls := make([]string, pages)
	for i := range urls {
		urls[i] = fmt.Sprintf("%s/page/%d", server.URL, i)
		if i >= pages-hanging {
			urls[i] = fmt.Sprintf("%s/hanging/%d", server.URL, i)
		}
	}
	type result struct {
		Pages  int64    `json:"pages"`
		Bytes  int64    `json:"bytes"`
		Failed []string `json:"failed"`
		Late   []string `json:"late"`
	}
	crawl := func(deadline time.Duration) (run client.Run[result], killedTwice bool) {
		asked.Store(0)
		run, err := client.Workflow[object, result](v.Client, "crawl/Crawl").Start(v.t.Context(), object{
			"run": deadline.String(), "urls": urls, "deadline_ms": deadline.Milliseconds(),
		})
		require.NoError(v.t, err)
		over := func() bool {
			st, err := run.Poll(v.t.Context())
			require.NoError(v.t, err)
			if st.State.Final() {
				require.Equal(v.t, client.Completed, st.State, "%v", st.Err)
			}
			return st.State.Final()
		}
		return run, v.killDuring(over, &asked, 60) && v.killDuring(over, &asked, pages-hanging+1)
	}
	deadline := 20 * time.Second
	run, killedTwice := crawl(deadline)
	for tries := 1; !killedTwice; tries++ {
		require.Less(v.t, tries, 4, "the crawl was over before the second kill, with a deadline of %s too", deadline)
		deadline *= 4
		run, killedTwice = crawl(deadline)
	}
	got, err := run.Wait(v.t.Context())
	require.NoError(v.t, err)
	require.Subset(v.t, got.Late, urls[pages-hanging:])
	require.Equal(v.t, pages, int(got.Pages)+len(got.Late)+len(got.Failed))
	require.Equal(v.t, 4*got.Pages, got.Bytes)
	tables := v.rows(`SELECT execution, url FROM crawl_pages GROUP BY execution, url HAVING count(*) > 1`,
		`SELECT url FROM crawl_pages WHERE execution = '`+run.Execution()+`'`)
	require.Empty(v.t, tables[0], "a page was noted twice")
	noted := map[string]bool{}
	for _, url := range tables[1] {
		noted[url] = true
	}
	missing := map[string]bool{}
	for _, url := range append(got.Late, got.Failed...) {
		missing[url] = true
	}
	for _, url := range urls {
		require.True(v.t, noted[url] || missing[url], "%s was counted and not noted", url)
	}
}

// killImports: 50 children; two fail.
func killImports(v *victim) {
	v.begin("imports", nil)
	var files []string
	for i := range 48 {
		files = append(files, fmt.Sprintf("file-%02d", i))
	}
	files = append(files, "broken-1", "broken-2")
	type result struct {
		Rows   int64             `json:"rows"`
		Failed map[string]string `json:"failed"`
	}
	run, err := client.Workflow[object, result](v.Client, "imports/Import").Start(v.t.Context(), object{
		"batch": "b", "files": files, "at_once": 20,
	})
	require.NoError(v.t, err)
	for _, entries := range []uint64{5, 30} {
		v.killAfter(run.Execution(), entries)
	}
	got, err := run.Wait(v.t.Context())
	require.NoError(v.t, err)
	require.Equal(
		v.t,
		result{
			Rows:   144,
			Failed: map[string]string{"broken-1": "broken-1 cannot be read", "broken-2": "broken-2 cannot be read"},
		},
		got,
	)
	require.Equal(v.t, [][]string{{"144"}, {}}, v.rows(`SELECT count(*) FROM import_rows`,
		`SELECT source, part FROM import_rows GROUP BY source, part HAVING count(*) > 1`))
}

// killLibraries: clients of services and of SQL in activities.
func killLibraries(v *victim) {
	services := &standupServices{}
	var asked atomic.Int64
	var once sync.Once
	answered := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		services.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "chat.postMessage") {
			once.Do(func() { close(answered) })
		}
	}))
	v.t.Cleanup(server.Close)
	v.begin("libraries", map[string]string{
		"openai_key": "k1", "openai_url": server.URL + "/v1", "slack_token": "k2", "slack_url": server.URL + "/slack/",
	}, strings.TrimPrefix(server.URL, "http://"))
	run, err := client.Workflow[object, object](v.Client, "libraries/Standup").Start(v.t.Context(), object{
		"channel": "team", "day": "2026-03-28", "zone": "Europe/Berlin", "notes": []string{"nothing broke"},
	})
	require.NoError(v.t, err)
	v.killWhen(&asked, 1)
	<-answered
	v.kill()
	got, err := run.Wait(v.t.Context())
	require.NoError(v.t, err)
	require.Equal(v.t, "all is well", got["summary"])
	services.mu.Lock()
	defer services.mu.Unlock()
	for _, id := range services.ids {
		require.Equal(v.t, services.ids[0], id, "a message that is sent again has the same id")
	}
	require.Equal(v.t, [][]string{{"1"}}, v.rows(`SELECT count(*) FROM summary_lines`))
}

// killQuorum: three people are asked and reminded; two agree.
func killQuorum(v *victim) {
	v.begin("quorum", nil)
	type result struct {
		Decision string   `json:"decision"`
		For      []string `json:"for"`
		Against  []string `json:"against"`
	}
	run, err := client.Workflow[object, result](v.Client, "quorum/Decide").Start(v.t.Context(), object{
		"proposal": "p", "approvers": []string{"ada", "bob", "eve"}, "remind_ms": 100,
	})
	require.NoError(v.t, err)
	v.killAfter(run.Execution(), 4)
	require.ErrorContains(v.t, run.Resolve(v.t.Context(), "vote-ada", object{"agres": true}), "agres")
	require.ErrorContains(v.t, run.Resolve(v.t.Context(), "voteada", object{"agrees": true}), "vote-")
	require.NoError(v.t, run.Resolve(v.t.Context(), "vote-ada", object{"agrees": true}))
	require.NoError(v.t, run.Resolve(v.t.Context(), "vote-eve", object{"agrees": true}))
	v.kill()
	got, err := run.Wait(v.t.Context())
	require.NoError(v.t, err)
	slices.Sort(got.For) // a member who is just being reminded is counted behind the other
	require.Equal(v.t, result{Decision: "accepted", For: []string{"ada", "eve"}, Against: []string{}}, got)
	tables := v.rows(
		`SELECT kind, recipient, number FROM quorum_letters GROUP BY kind, recipient, number HAVING count(*) > 1`,
		`SELECT kind, recipient FROM quorum_letters WHERE kind <> 'reminder'`,
		`SELECT recipient FROM quorum_letters GROUP BY recipient, kind HAVING count(*) <> max(number)`,
	)
	require.Equal(v.t, [][]string{{}, {"accepted all"}, {}}, tables)
}

// killSaga: a booking is interrupted, and all that was booked is given back, in reverse order.
func killSaga(v *victim) {
	v.begin("saga", nil)
	run, err := client.Workflow[object, object](v.Client, "saga/BookTrip").Start(v.t.Context(), object{
		"trip_id": "t", "pause_ms": 3_600_000,
	})
	require.NoError(v.t, err)
	v.killAfter(run.Execution(), 1)
	require.NoError(v.t, run.Interrupt(v.t.Context(), "staying at home"))
	v.kill()
	_, err = run.Wait(v.t.Context())
	require.ErrorContains(v.t, err, "staying at home")
	require.Equal(v.t, [][]string{{"1 book flight", "2 give_back flight"}, {"flight given_back"}},
		v.rows(`SELECT position, action, part FROM booking_log ORDER BY position`, `SELECT part, status FROM bookings`))
}
