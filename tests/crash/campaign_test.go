package crash_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	requests "github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// campaign is all runs of one scenario on one store.
type campaign struct {
	t        *testing.T
	d        *driver
	language language
	scenario scenario
	reach    map[string]cell // from the table
	payments *charges
	firstToo bool // crash also at the first passing, not only at the last
	trials   []trial
}

// trial is one run of a scenario, with the crashes that it went through.
type trial struct {
	key, execution string
	end            ending
	crashed        []faultpoint.Passing
}

func newCampaign(t *testing.T, l language, s scenario, reach map[string]cell, launch func(arming) *life) *campaign {
	c := &campaign{t: t, d: newDriver(t, launch), language: l, scenario: s, reach: reach, payments: countCharges(t)}
	c.d.deploy = func(another bool) {
		if another {
			c.d.push(l.another(), s, c.payments)
		} else {
			c.d.push(l, s, c.payments)
		}
	}
	if !s.deploys {
		c.d.restart()
		c.d.deploy(false)
	}
	return c
}

// try runs the scenario. The engines crash as the plan says, one after the other.
func (c *campaign) try(key string, plan ...faultpoint.Passing) trial {
	d, s := c.d, c.scenario
	c.payments.reset()
	d.retention = 0
	tr := trial{key: key}
	if s.prepare != nil {
		d.restart()
		tr.execution = s.prepare(d, key)
	}
	d.retention = s.retention
	d.restart(plan...)
	if s.deploys {
		d.push(c.language, s, c.payments)
	}
	tr.execution, tr.end = s.run(d, key, tr.execution)
	return tr
}

// done takes a trial in, with the crashes that happened meanwhile.
func (c *campaign) done(tr trial) {
	tr.crashed = c.d.crashed
	c.trials = append(c.trials, tr)
	keys, most := c.payments.seen()
	charged := strings.HasPrefix(c.scenario.example, "orders")
	require.Equal(c.t, charged, keys == 1, "after %v there were %d idempotency keys", tr.crashed, keys)
	require.LessOrEqual(c.t, most, 1+len(tr.crashed), "after %v an effect may happen once more for each", tr.crashed)
}

// undisturbed counts how often a run that does not crash passes each point, and holds that against the table.
func (c *campaign) undisturbed(counts func() map[string]int) {
	harness.TryUntil(c.t, c.scenario.name+" passes no point that only slow runs pass", func(n int) bool {
		c.done(c.try(fmt.Sprintf("undisturbed-%d", n)))
		return !c.checkCounts(counts)
	})
}

// checkCounts holds how often the last run has passed each point against the table. It tells whether that was a slow
// run.
func (c *campaign) checkCounts(counts func() map[string]int) (slow bool) {
	for _, point := range faultpoint.Points {
		if cell := c.reach[point]; cell.n > 0 && !cell.byTime {
			// The client may have its last answer before the engine passes the point.
			harness.Eventually(c.t, fmt.Sprintf("%s passes %s as often as the table says", c.scenario.name, point),
				func() bool { return counts()[point] >= cell.n })
		}
	}
	passed := counts()
	for _, point := range faultpoint.Points {
		cell := c.reach[point]
		if cell.never() {
			require.Zero(
				c.t, passed[point], "the table does not say that %s passes %s: %v", c.scenario.name, point, passed,
			)
		}
		if cell.ifSlow() && passed[point] > 0 {
			c.t.Logf("a slow run of %s: it passes %s %d times", c.scenario.name, point, passed[point])
			slow = true
		}
	}
	return slow
}

func (c *campaign) crashAtAll(points []string) {
	for _, point := range points {
		c.crashAt(point)
	}
}

// crashAt crashes at the last passing of a point that every run makes, and with warm instances at the first as well; in
// full at each.
func (c *campaign) crashAt(point string) {
	cell := c.reach[point]
	for n := 1; n <= cell.n; n++ {
		if extenttest.Full() || n == 1 && c.firstToo || n == cell.n {
			c.crashAtPassing(faultpoint.Passing{Point: point, N: n}, cell.byTime)
		}
	}
}

// crashAtPassing runs the scenario with a crash, and fails if there was none. An op that is due before the engine
// waits for it sets off no timer: then the run was an undisturbed one, and is made again.
func (c *campaign) crashAtPassing(at faultpoint.Passing, byTime bool) {
	name := strings.ReplaceAll(at.Point, ".", "-")
	if !byTime {
		tr := c.try(fmt.Sprintf("%s-%d", name, at.N), at)
		c.d.awaitCrashes(harness.Patience)
		c.done(tr)
		require.Equal(c.t, []faultpoint.Passing{at}, c.d.crashed, "%s did not crash there", c.scenario.name)
		return
	}
	harness.TryUntil(c.t, fmt.Sprintf("%s passes %s", c.scenario.name, at), func(n int) bool {
		tr := c.try(fmt.Sprintf("%s-%d-%d", name, at.N, n), at)
		c.d.awaitCrashes(0)
		c.done(tr)
		return len(c.d.crashed) == 1
	})
}

// crashInReplays crashes three engines, two of them while they replay the journal of the first.
func (c *campaign) crashInReplays() {
	// The commit of the last transaction may hold the result: then nothing would be left.
	first := faultpoint.Passing{Point: faultpoint.TxBeforeCommit, N: c.reach[faultpoint.TxBeforeCommit].n}
	if first.N == 0 {
		first = faultpoint.Passing{Point: faultpoint.ActivityAfter, N: 1}
	}
	if c.reach[first.Point].n == 0 || c.scenario.deploys {
		return // nothing is left to replay, or another scenario does it
	}
	again := faultpoint.Passing{Point: faultpoint.Replay, N: 1}
	tr := c.try("in-replays", first, again, again)
	c.d.awaitCrashes(harness.Patience)
	c.done(tr)
	require.Equal(
		c.t, []faultpoint.Passing{first, again, again}, c.d.crashed, "%s did not crash there", c.scenario.name,
	)
}

// compare compares the results of each trial with the file of outcomes.
func (c *campaign) compare(store journal.Store) {
	want := readOutcomes(c.t)[c.scenario.name]
	for _, tr := range c.trials {
		require.Equal(c.t, want, c.observe(store, tr), "after %v", tr.crashed)
	}
}

// observe renders everything that a trial showed and stored.
func (c *campaign) observe(store journal.Store, tr trial) []string {
	if tr.end != gone {
		checkJournal(c.t, store, tr)
	}
	seen := []string{outcome(c.t, tr)}
	for _, q := range c.scenario.rows {
		seen = append(seen, render(c.t, tr.key, rowsOf(c.t, store, q, tr.key)))
	}
	for _, q := range c.scenario.rowsOfExecution {
		seen = append(seen, render(c.t, tr.key, rowsOf(c.t, store, q, tr.execution)))
	}
	return seen
}

// checkJournal checks the invariants of every journal: sequence numbers ascend, an op is delivered at most once, and
// time does not run backwards.
func checkJournal(t *testing.T, store journal.Store, tr trial) {
	ref, err := requests.RefOf(host.DefaultNamespace, tr.execution)
	require.NoError(t, err)
	row, err := store.Load(t.Context(), ref.ID)
	require.NoError(t, err)
	entries, _, err := store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 10_000, Bytes: 1 << 30})
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	delivered, seq, at, turn := map[uint32]bool{}, uint64(0), row.Pinned.Time, uint64(0)
	for _, en := range entries {
		require.Greater(t, en.Seq, seq)
		require.GreaterOrEqual(t, en.At, at, "entry %d", en.Seq)
		seq, at = en.Seq, en.At
		if en.Kind == journal.Delivery {
			require.False(t, delivered[en.Op.Number], "op %d is delivered twice", en.Op.Number)
			require.GreaterOrEqual(t, en.Turn, turn, "entry %d", en.Seq)
			delivered[en.Op.Number], turn = true, en.Turn
		}
	}
}

// rowsOf reads rows of the guests' tables.
func rowsOf(t *testing.T, store journal.Store, sql string, args ...any) [][]any {
	tx, err := store.BeginGuest(t.Context(), host.DefaultNamespace)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	_, rows, err := tx.Query(t.Context(), sql, args)
	require.NoError(t, err)
	return rows
}

// varying matches text that differs between two executions by design: ids derived from the key.
var varying = regexp.MustCompile(`[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// render renders a result for comparison, without the parts that differ from key to key.
func render(t *testing.T, key string, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return strings.ReplaceAll(string(varying.ReplaceAll(text, []byte("ID"))), key, "KEY")
}

// traceback matches the message of a crash, which has a place in the source.
var traceback = regexp.MustCompile(`the module crashed: .*`)

// outcome is everything that a caller can observe of an execution.
func outcome(t *testing.T, tr trial) string {
	if err := tr.end.err; err != nil {
		message := traceback.ReplaceAllString(err.Message, "the module crashed: …")
		return fmt.Sprintf("%s %s %s", tr.end.state, err.Code, render(t, tr.key, message))
	}
	return fmt.Sprintf("%s %s", tr.end.state, render(t, tr.key, tr.end.value))
}

// readOutcomes reads the file of outcomes: the name of a scenario, and below it, indented, its end and its rows, in
// any language and on any store.
func readOutcomes(t *testing.T) map[string][]string {
	text, err := os.ReadFile("testdata/outcomes")
	require.NoError(t, err)
	all, name := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			all[name] = append(all[name], line[1:])
		default:
			name = line
		}
	}
	return all
}
