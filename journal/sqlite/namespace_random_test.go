package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamespacesAreAlikeAtRandom is [TestNamespacesAreAlike] with statements that are made up: tables in all spellings,
// with aliases and without, nested, joined, shadowed by aliases, columns and common table expressions of their names.
func TestNamespacesAreAlikeAtRandom(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	const statements = 5000
	worked := 0
	for seed := range uint64(statements) {
		g := &sqlMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
		query := g.statement()
		want := b.try(t, plain, query, false)
		got := b.try(t, named, query, false)
		if strings.HasPrefix(want, "CR-") {
			// some errors spell a table as it was made, others as the statement does
			want, got = strings.ToLower(want), strings.ToLower(got)
		}
		require.Equal(t, want, got, "%d: %s", seed, query)
		if !strings.HasPrefix(want, "cr-") {
			worked++
		}
	}
	require.Greater(t, worked, statements/4, "much of it is SQL")
	require.Equal(t, b.contents(t, plain), b.contents(t, named))
}

// sqlMaker makes statements over the shop's tables.
type sqlMaker struct {
	*rand.Rand
	aliases int
	// scopes are the sources whose columns can be named, the innermost last.
	scopes [][]source
	// expressions are the common table expressions that can be named.
	expressions []source
}

type source struct {
	name    string
	columns []string
}

var shopTables = []source{
	{"orders", []string{"id", "customer", "n", "items", "seen"}},
	{"items", []string{"id", "o", "doc", "parent"}},
	{"counts", []string{"k", "n"}},
	{"copies", []string{"id", "c"}},
	{"totals", []string{"customer", "n"}},
	{"odder", []string{"id", `"select"`}},
}

func (g *sqlMaker) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *sqlMaker) spelled(name string) string {
	return g.one(
		name, name, name, `"`+name+`"`, "["+name+"]", "`"+name+"`", strings.ToUpper(name), "/* FROM orders */ "+name,
	)
}

func (g *sqlMaker) statement() string {
	table := shopTables[g.IntN(4)]
	switch g.IntN(8) {
	case 0:
		g.scopes = [][]source{{table}}
		return g.with() + fmt.Sprintf(
			"UPDATE %s SET %s = %s WHERE %s RETURNING %s", g.spelled(table.name), table.columns[1], g.expression(2),
			g.condition(2), g.column(),
		)
	case 1:
		g.scopes = [][]source{{table}}
		return g.with() + fmt.Sprintf("DELETE FROM %s WHERE %s RETURNING *", g.spelled(table.name), g.condition(2))
	case 2:
		first, second := table.columns[0], table.columns[1]
		return g.with() + fmt.Sprintf(
			"INSERT INTO %s (%s) %s RETURNING %s, %s.%s", g.spelled(table.name), first, g.query(2, 1), first,
			table.name, second,
		)
	case 3: // with other tables
		g.scopes = [][]source{{table}}
		with := g.with()
		from := g.from(2)
		g.scopes[1] = append(g.scopes[1], table)
		set := g.expression(2) + " FROM " + from + " WHERE " + g.condition(2)
		g.scopes = g.scopes[:1]
		called := g.spelled(table.name) + g.one("", "", " AS orders", " NOT INDEXED")
		return with + fmt.Sprintf("UPDATE %s SET %s = %s RETURNING %s", called, table.columns[1], set, g.column())
	case 4: // or, where there is one, change it
		with, query := g.with(), g.query(2, 1)
		g.scopes = [][]source{{table}}
		into := g.one("", "OR IGNORE ", "OR REPLACE ") + "INTO " + g.spelled(table.name) + g.one("", "", " AS orders")
		return with + fmt.Sprintf(
			"INSERT %s (%s) SELECT * FROM (%s) WHERE true ON CONFLICT DO UPDATE SET %s = %s WHERE %s RETURNING %s",
			into, table.columns[0], query, table.columns[1], g.expression(2), g.condition(2), g.column(),
		)
	default:
		return g.with() + g.query(3, 1+g.IntN(3))
	}
}

// with returns a list of common table expressions, with a few names of tables.
func (g *sqlMaker) with() string {
	if g.IntN(3) > 0 {
		return ""
	}
	var list []string
	for range 1 + g.IntN(2) {
		name := g.one("orders", "items", "fresh", "other")
		list = append(
			list,
			fmt.Sprintf(
				"%s (x) AS %s(%s)", g.spelled(name), g.one("", "MATERIALIZED ", "NOT MATERIALIZED "), g.query(1, 1),
			),
		)
		g.expressions = append(g.expressions, source{name, []string{"x"}})
	}
	return "WITH " + strings.Join(list, ", ") + " "
}

func (g *sqlMaker) query(depth, columns int) string {
	before := len(g.expressions)
	defer func() { g.expressions = g.expressions[:before] }()
	var with string
	if depth > 1 && g.IntN(6) == 0 {
		with = g.with()
	}
	from := g.from(depth)
	var list []string
	for range columns {
		list = append(list, g.expression(depth-1)+g.one("", "", " AS orders", " items"))
	}
	text := with + "SELECT " + g.one("", "", "DISTINCT ") + strings.Join(list, ", ") + " FROM " + from
	if g.IntN(2) == 0 {
		text += " WHERE " + g.condition(depth-1)
	}
	if g.IntN(4) == 0 {
		text += " GROUP BY " + g.column() + " HAVING " + g.condition(0)
	}
	g.scopes = g.scopes[:len(g.scopes)-1]
	if depth > 1 && g.IntN(5) == 0 {
		text += g.one(" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ") + "SELECT " +
			strings.Repeat("1, ", columns-1)
		text += g.one("orders.n", "counts.k") + " FROM " + g.spelled("orders") + ", " + g.spelled("counts")
	}
	return text + g.one("", "", " LIMIT 3", " ORDER BY 1")
}

// from is a list of tables, whose columns can be named from now on.
func (g *sqlMaker) from(depth int) string {
	g.scopes = append(g.scopes, nil)
	text := g.source(depth)
	for range g.IntN(3) {
		switch g.IntN(3) {
		case 0:
			text += ", " + g.source(depth)
		case 1:
			text += g.one(" JOIN ", " LEFT JOIN ", " CROSS JOIN ", " LEFT OUTER JOIN ") + g.source(depth) + " ON " +
				g.condition(0)
		default:
			text = text + " INNER JOIN (" + g.source(0) + ") ON " + g.condition(0)
		}
	}
	return text
}

// source is one source of a FROM.
func (g *sqlMaker) source(depth int) string {
	g.aliases++
	alias := g.one(fmt.Sprintf("a%d", g.aliases), fmt.Sprintf("a%d", g.aliases), "orders", "items")
	add := func(name string, columns []string) {
		top := &g.scopes[len(g.scopes)-1]
		*top = append(*top, source{name, columns})
	}
	if depth > 1 && g.IntN(4) == 0 {
		query := g.query(depth-1, 1)
		add(alias, nil)
		return "(" + query + ") " + g.one("", "AS ") + alias
	}
	if len(g.expressions) > 0 && g.IntN(3) == 0 {
		e := g.expressions[g.IntN(len(g.expressions))]
		add(e.name, e.columns)
		return g.spelled(e.name)
	}
	table := shopTables[g.IntN(len(shopTables))]
	spelled := g.one("", "", "main.") + g.spelled(table.name)
	if g.IntN(2) == 0 {
		add(alias, table.columns)
		return spelled + g.one(" ", " AS ") + alias
	}
	add(table.name, table.columns)
	return spelled + g.one("", "", " NOT INDEXED")
}

// column returns a column of a source that can be named, or of another that hides it.
func (g *sqlMaker) column() string {
	scope := g.scopes[len(g.scopes)-1-g.IntN(min(2, len(g.scopes)))]
	if len(scope) == 0 {
		return "1"
	}
	s := scope[g.IntN(len(scope))]
	if len(s.columns) == 0 {
		return "2"
	}
	return g.one(s.name+".", s.name+".", `"`+s.name+`".`) + s.columns[g.IntN(len(s.columns))]
}

func (g *sqlMaker) expression(depth int) string {
	if depth < 1 {
		return g.one(g.column(), g.column(), "'FROM orders'", "3", `"items"`)
	}
	switch g.IntN(7) {
	case 0:
		return "(" + g.query(depth, 1) + " LIMIT 1)"
	case 1:
		return "coalesce(" + g.expression(depth-1) + ", " + g.expression(depth-1) + ")"
	case 2:
		return "CASE WHEN " + g.condition(depth-1) + " THEN " + g.expression(depth-1) + " END"
	case 3:
		return "count(" + g.column() + ") FILTER (WHERE " + g.condition(0) + ")"
	case 4:
		return "sum(" + g.column() + ") OVER (PARTITION BY " + g.column() + " ORDER BY " + g.column() + ")"
	default:
		return g.column()
	}
}

func (g *sqlMaker) condition(depth int) string {
	if depth < 1 {
		return g.column() + g.one(" = ", " > ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + g.column()
	}
	switch g.IntN(5) {
	case 0:
		return g.expression(0) + g.one(" IN (", " NOT IN (") + g.query(depth, 1) + ")"
	case 1:
		return g.one("", "NOT ") + "EXISTS (" + g.query(depth, 1) + ")"
	case 2:
		return g.condition(depth-1) + g.one(" AND ", " OR ") + g.condition(depth-1)
	default:
		return g.condition(0)
	}
}
