package storetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var publishedTests = []test{
	{"RoundTrip", nil, testPublished},
	{"Replaced", nil, testPublishedReplaced},
	{"Missing", nil, testPublishMissing},
	{"Conditions", nil, testConditions},
	{"ConditionsWithFilters", nil, testConditionsWithFilters},
	{"ConditionsPaged", nil, testConditionsPaged},
	{"BadConditions", nil, testBadConditions},
	{"Malformed", nil, testPublishMalformed},
	{"Swept", nil, testPublishedSwept},
	{"StaleOwner", nil, testStalePublish},
}

func text(s string) abi.Attribute     { return abi.Attribute{Type: abi.AttributeText, Text: s} }
func number(n float64) abi.Attribute  { return abi.Attribute{Type: abi.AttributeNumber, Number: n} }
func boolean(n float64) abi.Attribute { return abi.Attribute{Type: abi.AttributeBool, Number: n} }

func instant(n float64) abi.Attribute { return abi.Attribute{Type: abi.AttributeTime, Number: n} }

func named(name string, a abi.Attribute) journal.NamedAttribute {
	return journal.NamedAttribute{Name: name, Attribute: a}
}

// publish is a write of attributes.
func (b *bundle) publish(id journal.ID, attributes ...journal.NamedAttribute) journal.Write {
	w := b.write(id)
	w.Publish = &journal.Published{Attributes: attributes, At: 5}
	return w
}

func where(name, operator string, value abi.Attribute) journal.Condition {
	return journal.Condition{Name: name, Operator: operator, Value: value}
}

// find lists the keys of executions that meet conditions, newest first.
func (b *bundle) find(t testing.TB, conditions ...journal.Condition) (keys []string) {
	t.Helper()
	return b.findIn(t, journal.Filter{Namespace: "default", Where: conditions})
}

// findIn goes through all pages of a filter.
func (b *bundle) findIn(t testing.TB, f journal.Filter) (keys []string) {
	t.Helper()
	for {
		page, err := b.store.List(b.ctx, f)
		require.NoError(t, err)
		for _, e := range page.Executions {
			keys = append(keys, e.Key)
		}
		if f.After = page.Next; f.After == "" {
			return keys
		}
	}
}

func testPublished(t *testing.T, b *bundle) {
	id, silent := b.start(t, newExecution("k")), b.start(t, newExecution("silent"))
	p := journal.Published{
		State: []abi.Published{
			{Name: "a", Value: abi.MustMarshal("one")}, {Name: "b", Value: []byte{}}, {Name: "ž", Value: nil},
		},
		Attributes: []journal.NamedAttribute{
			named("amount", number(-12.5)), named("customer", text("ada")), named("paid", boolean(1)),
			named("when", instant(1e15)),
		},
		Progress: &abi.Progress{Done: 1, Note: "half", Total: math.MaxUint64}, At: 9,
	}
	w := b.write(id)
	w.Publish, w.Entries = &p, []journal.Entry{newEntry(1)}
	b.commit(t, w)
	got, err := b.store.Published(b.ctx, b.chainKey(id))
	require.NoError(t, err)
	require.Equal(t, &p, got)
	for _, missing := range []journal.ID{silent, newExecution("missing").ID} {
		_, err = b.store.Published(b.ctx, b.chainKey(missing))
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	b.commit(t, b.publish(silent))
	got, err = b.store.Published(b.ctx, b.chainKey(silent))
	require.NoError(t, err)
	require.Equal(t, &journal.Published{At: 5}, got)

	quiet, missing := b.start(t, newExecution("quiet")), newExecution("missing").ID
	outlines, err := b.store.Outlines(b.ctx, []journal.RunKey{
		b.chainKey(missing), b.chainKey(silent), b.chainKey(id), b.chainKey(quiet), b.chainKey(id),
	})
	require.NoError(t, err)
	p.State = nil
	require.Equal(t, map[journal.RunKey]*journal.Published{b.chainKey(id): &p, b.chainKey(silent): {At: 5}}, outlines)
	outlines, err = b.store.Outlines(b.ctx, nil)
	require.NoError(t, err)
	require.Empty(t, outlines)
}

func testPublishedReplaced(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.commit(t, b.publish(id, named("amount", number(1)), named("customer", text("ada")), named("stays", boolean(0))))
	writes := []journal.Write{
		b.publish(id, named("amount", number(2))),
		b.publish(id, named("amount", text("much")), named("stays", boolean(0))),
	}
	results, err := b.store.Commit(b.ctx, writes)
	require.NoError(t, err)
	require.Equal(t, make([]journal.Result, 2), results)
	require.Empty(t, b.find(t, where("customer", "=", text("ada"))))
	require.Empty(t, b.find(t, where("amount", ">", number(0))))
	require.Equal(t, []string{"k"}, b.find(t, where("amount", "=", text("much"))))
	require.Equal(t, []string{"k"}, b.find(t, where("stays", "=", boolean(0))))
	b.commit(t, b.publish(id))
	require.Empty(t, b.find(t, where("amount", "=", text("much"))))

	// It stays when the run has ended.
	b.commit(t, b.publish(id, named("amount", number(3))))
	b.finish(t, id, 10)
	require.Equal(t, []string{"k"}, b.find(t, where("amount", "=", number(3))))
}

func testPublishMissing(t *testing.T, b *bundle) {
	e := newExecution("k")
	require.ErrorIs(t, b.result(t, b.publish(e.ID, named("a", number(1)))).Err, journal.ErrNotFound)
	w := b.publish(e.ID, named("a", number(1)))
	w.Start = &e
	b.commit(t, w)
	require.Equal(t, []string{"k"}, b.find(t, where("a", "=", number(1))))
	other := b.publish(e.ID, named("a", number(2)))
	other.Run[0] ^= 1
	require.ErrorIs(t, b.result(t, other).Err, journal.ErrNotFound)
	require.Empty(t, b.find(t, where("a", "=", number(2))))
}

func testConditions(t *testing.T, b *bundle) {
	values := []abi.Attribute{
		text(""), text("ada"), text("adb"), text("ž"), number(-1e300), number(-1), number(0), number(1.5),
		number(math.MaxFloat64),
		boolean(0), boolean(1), instant(1e15), instant(1e15 + 1),
	}
	for i, value := range values {
		e := newExecution(fmt.Sprintf("%02d", i))
		e.CreatedAt = int64(1000 - i)
		b.commit(t, b.publish(b.start(t, e), named("v", value), named("w", value)))
	}
	for _, value := range values {
		for _, operator := range []string{"=", "<", "<=", ">", ">="} {
			condition := where("v", operator, value)
			var want []string
			for i, other := range values {
				if condition.Meets(other) {
					want = append(want, fmt.Sprintf("%02d", i))
				}
			}
			require.Equal(t, want, b.find(t, condition), "v %s %+v", operator, value)
		}
	}
	require.Equal(t, []string{"05", "06"}, b.find(t, where("v", ">", number(-2)), where("w", "<=", number(0))))
	require.Equal(
		t, []string{"06"},
		b.find(t, where("v", ">", number(-2)), where("w", "=", number(0)), where("v", "<", number(1))),
	)
	require.Empty(t, b.find(t, where("v", "=", number(0)), where("w", "=", number(1))))
	require.Empty(t, b.find(t, where("x", "=", number(0))))
	require.Equal(t, []string{"06"}, b.find(t, where("v", "=", number(math.Copysign(0, -1)))))
}

func testConditionsWithFilters(t *testing.T, b *bundle) {
	for i, e := range []journal.Execution{newExecution("a"), newExecution("b"), newExecution("c"), newExecution("d")} {
		e.CreatedAt = int64(i + 1)
		switch e.Key {
		case "b":
			e.Workflow = "orders/Refund"
		case "c":
			e.Namespace = "other"
		case "d":
			e.Workflow, e.State = "billing/Process", journal.Paused
		}
		b.commit(t, b.publish(b.start(t, e), named("i", number(float64(i))), named("n", number(1))))
	}
	for _, condition := range []journal.Condition{where("n", "=", number(1)), where("i", ">=", number(0))} {
		for want, f := range map[string]journal.Filter{
			"[d c b a]": {},
			"[d b a]":   {Namespace: "default"},
			"[c]":       {Namespace: "other"},
			"[]":        {Namespace: "none"},
			"[b a]":     {Namespace: "default", Workflow: "orders/"},
			"[c b a]":   {Workflow: "orders/"},
			"[c a]":     {Workflow: "orders/Process"},
			"[d]":       {State: journal.Paused},
			"[a]":       {Namespace: "default", Workflow: "orders/Process", State: journal.Running},
		} {
			for _, limit := range []int{1, 2, 10} {
				f.Where, f.Limit = []journal.Condition{condition}, limit
				require.Equal(t, want, fmt.Sprint(b.findIn(t, f)), "%+v", f)
			}
		}
	}
}

func testConditionsPaged(t *testing.T, b *bundle) {
	var want []string
	for i := range 50 {
		e := newExecution(fmt.Sprintf("%02d", i))
		e.CreatedAt = int64(1000 - i/2) // two of a time
		id := b.start(t, e)
		b.commit(t, b.publish(id, named("even", boolean(float64(1-i%2))), named("i", number(float64(i)))))
		if i%2 == 0 && i >= 10 {
			want = append(want, e.Key)
		}
	}
	for _, limit := range []int{1, 7, 20, 1000} {
		for _, conditions := range [][]journal.Condition{
			{where("even", "=", boolean(1)), where("i", ">=", number(10))},
			{where("even", ">", boolean(0)), where("i", ">=", number(10))},
		} {
			require.Equal(t, want, b.findIn(t, journal.Filter{Namespace: "default", Where: conditions, Limit: limit}))
		}
	}
	// Rows newer than the page do not shift it.
	f := journal.Filter{Namespace: "default", Where: []journal.Condition{where("even", "=", boolean(1))}, Limit: 1}
	page, err := b.store.List(b.ctx, f)
	require.NoError(t, err)
	require.Equal(t, "00", page.Executions[0].Key)
	require.Nil(t, page.Executions[0].Input)
	e := newExecution("new")
	e.CreatedAt = 2000
	b.commit(t, b.publish(b.start(t, e), named("even", boolean(1))))
	f.After = page.Next
	page, err = b.store.List(b.ctx, f)
	require.NoError(t, err)
	require.Equal(t, "02", page.Executions[0].Key)
}

func testBadConditions(t *testing.T, b *bundle) {
	good := where("a", "=", number(1))
	for name, conditions := range map[string][]journal.Condition{
		"too many":        {good, good, good, good, good},
		"no operator":     {where("a", "", number(1))},
		"SQL":             {where("a", "= 1 OR 1 =", number(1))},
		"no name":         {where("", "=", number(1))},
		"no type":         {where("a", "=", abi.Attribute{Text: "x"})},
		"another type":    {where("a", "=", abi.Attribute{Type: "blob"})},
		"not a number":    {where("a", "=", number(math.NaN()))},
		"infinite":        {where("a", "<", number(math.Inf(1)))},
		"a zero byte":     {where("a", "=", text("a\x00b"))},
		"not UTF-8":       {where("a", "=", text("\xff"))},
		"name not UTF-8":  {where("\xff", "=", number(1))},
		"a text's number": {where("a", "=", abi.Attribute{Type: abi.AttributeText, Number: 1})},
		"a number's text": {where("a", "=", abi.Attribute{Type: abi.AttributeNumber, Text: "x"})},
	} {
		_, err := b.store.List(b.ctx, journal.Filter{Where: conditions})
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), name)
	}
	for _, hostile := range []string{"'; DROP TABLE cruster_attributes; --", "%", "\\", `"`, "\u202e"} {
		require.Empty(t, b.find(t, where(hostile, "=", text(hostile))))
	}
}

func testPublishMalformed(t *testing.T, b *bundle) {
	id, other := b.start(t, newExecution("k")), b.start(t, newExecution("other"))
	for name, p := range map[string]*journal.Published{
		"not sorted":      {Attributes: []journal.NamedAttribute{named("b", number(1)), named("a", number(1))}},
		"twice":           {Attributes: []journal.NamedAttribute{named("a", number(1)), named("a", text("x"))}},
		"not a number":    {Attributes: []journal.NamedAttribute{named("a", number(math.NaN()))}},
		"a zero byte":     {Attributes: []journal.NamedAttribute{named("a", text("\x00"))}},
		"not UTF-8":       {Attributes: []journal.NamedAttribute{named("a", text("\xff"))}},
		"no name":         {Attributes: []journal.NamedAttribute{named("", text("x"))}},
		"no type":         {Attributes: []journal.NamedAttribute{named("a", abi.Attribute{})}},
		"state twice":     {State: []abi.Published{{Name: "a"}, {Name: "a"}}},
		"too many states": {State: make([]abi.Published, abi.MaxPublished+1)},
	} {
		w := b.write(id)
		w.Publish = p
		results, err := b.store.Commit(b.ctx, []journal.Write{b.publish(other, named("a", number(1))), w})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
		require.Error(t, results[1].Err, name)
	}
	_, err := b.store.Published(b.ctx, b.chainKey(id))
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func testPublishedSwept(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.commit(t, b.publish(id, named("a", number(1))))
	b.finish(t, id, 10)
	require.Equal(t, 1, b.sweep(t, 20, 10))
	require.Empty(t, b.find(t, where("a", "=", number(1))))
	b.purge(t)
	_, err := b.store.Published(b.ctx, b.chainKey(id))
	require.ErrorIs(t, err, journal.ErrNotFound)
	// A run that begins under the same name has published nothing.
	again := newExecution("k")
	again.CreatedAt = 7
	b.start(t, again)
	_, err = b.store.Published(b.ctx, b.chainKey(id))
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.Empty(t, b.find(t, where("a", "=", number(1))))
}

func testStalePublish(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	b.commit(t, b.publish(id, named("a", number(1))))
	w := b.publish(id, named("a", number(2)))
	c := b.continueAs(id, journal.RunID{1})
	b.claim(t, "second")
	require.ErrorIs(t, b.result(t, w).Err, journal.ErrFenced)
	require.ErrorIs(t, b.result(t, c).Err, journal.ErrFenced)
	require.Equal(t, []string{"k"}, b.find(t, where("a", "=", number(1))))
	require.Equal(t, journal.RunID(id), b.load(t, id).Run)
}
