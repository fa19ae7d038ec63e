package sqlread

import (
	"strconv"
	"strings"

	"github.com/cruster/cruster/journal"
)

// Queries are the texts of the reads of a store.
type Queries struct {
	Dialect

	Load, Brief, BriefRun, FindRun string
	Started, Linked                string
	Requested, RequestedSuperseded string
	Children, Earlier              string
	Hibernated                     string
	Entity, LockedEntity           string
	Lock, InSection                string

	// MessageColumns are the columns of a message: see [ScanMessage].
	MessageColumns              string
	Inbox, Message, FindMessage string
	ParkedOf                    string
	Published, Receipt          string

	Deployment, Deployments string
	Digests, Module         string
	Schedule, Schedules     string

	envelope string
	expand   func(string) string
}

// NewQueries makes the queries of a dialect. In their templates {x} is the table x, and $1 the first parameter.
func NewQueries(d Dialect) *Queries {
	q := &Queries{Dialect: d, expand: strings.NewReplacer("{", d.Tables, "}", "", "$", d.Parameter).Replace}
	q.executions()
	q.entities()
	q.inboxes()
	q.modules()
	return q
}

func (q *Queries) executions() {
	const (
		current = ` WHERE e.shard = $1 AND e.id = $2 AND e.superseded = 0`
		run     = ` WHERE e.shard = $1 AND e.id = $2 AND (e.run = $3 OR e.chain = $3) ORDER BY e.superseded LIMIT 1`
		listed  = `SELECT ` + ExecutionColumns + ` FROM {executions} e`
	)
	from := ` FROM {executions} e` + q.Inputs
	whole := `SELECT ` + ExecutionColumns + `, ` + q.Input + `, e.value` + from
	brief := `SELECT ` + ExecutionColumns + briefPayloads(q.Input) + from
	q.Load = q.expand(whole + current)
	q.FindRun = q.expand(whole + run)
	q.Brief = q.expand(brief + current)
	q.BriefRun = q.expand(brief + run)
	q.Started = q.expand(brief + ` WHERE e.parent_run = $1 AND e.parent_step = $2 LIMIT 1`)
	q.Linked = q.expand(`SELECT callee, callee_run FROM {links} WHERE shard = $1 AND run = $2 AND step = $3`)
	q.Requested = q.expand(brief + current + ` AND e.request = $3`)
	q.RequestedSuperseded = q.expand(strings.Replace(brief, `{executions} e`, `{executions} e`+q.ByRequest, 1) +
		` WHERE e.shard = $1 AND e.id = $2 AND e.superseded > 0 AND e.request = $3 LIMIT 1`)
	q.Children = q.expand(listed + ` WHERE e.parent_run = $1 AND e.state IN ('running', 'paused') AND e.id > $2
		ORDER BY e.id LIMIT $3`)
	q.Earlier = q.expand(listed + ` WHERE e.shard = $1 AND e.id = $2 AND e.superseded > 0 AND e.superseded < $3
		ORDER BY e.superseded DESC LIMIT $4`)
	q.Hibernated = q.expand(`SELECT seq, body FROM {hibernated} WHERE shard = $1 AND run = $2`)
}

// briefPayloads are the input and the value of a brief row, and how long they are: that is known without reading them.
func briefPayloads(input string) string {
	return strings.NewReplacer("INPUT", input, "MOST", strconv.Itoa(journal.MaxBrief)).Replace(
		`, CASE WHEN octet_length(INPUT) <= MOST THEN INPUT END, CASE WHEN octet_length(e.value) <= MOST THEN e.value END,
		coalesce(octet_length(INPUT), 0), coalesce(octet_length(e.value), 0)`)
}

func (q *Queries) entities() {
	const key = ` WHERE shard = $1 AND id = $2`
	q.Entity = q.expand(`SELECT ` + entityColumns + `, state FROM {entities}` + key)
	q.Lock = q.expand(`SELECT ` + LockColumns + ` FROM {locks} l` + key)
	q.LockedEntity = q.expand(
		`SELECT ` + entityColumns + `, state, NULL, NULL, NULL FROM {entities}` + key + ` UNION ALL
		SELECT id, namespace, type, key, 0, since, 0, NULL, holder, holder_run, holder_step FROM {locks}` + key,
	)
	q.InSection = q.expand(`SELECT workflow, key FROM {executions}
		WHERE shard = $1 AND run = $2 AND section = $3 AND state NOT IN ` + Final)
}

// Entities is the query for a page of entities, of one namespace or of all.
func (q *Queries) Entities(f *journal.EntityFilter) (query, bound string) {
	behind := `namespace = $1 AND (type, key) > ($2, $3)`
	if f.Namespace == "" {
		behind = `(namespace, type, key) > ($1, $2, $3)`
	}
	operator, bound := f.Bound()
	return q.expand(`SELECT ` + entityColumns + ` FROM {entities}
		WHERE ` + behind + ` AND type >= $5 AND type ` + operator + ` $4 ORDER BY namespace, type, key LIMIT $6`), bound
}

func (q *Queries) inboxes() {
	const to = ` FROM {inbox} WHERE shard = $1 AND id = $2 AND chain = $3`
	q.envelope = `position, origin, kind, name, at, ` + q.Flags + `, bytes, sender, sender_run, step`
	q.MessageColumns = q.envelope + `, value`
	q.Inbox = q.expand(`SELECT ` + q.envelope + to + ` AND position > $4 AND parked IS NULL ORDER BY position`)
	q.Message = q.expand(`SELECT ` + q.MessageColumns + to + ` AND position = $4 AND parked IS NULL`)
	q.FindMessage = q.expand(`SELECT ` + q.envelope + `, parked` + to + ` AND origin = $4`)
	q.Receipt = q.expand(`SELECT ` + ReceiptColumns + ` FROM {receipts} WHERE shard = $1 AND id = $2 AND origin = $3`)
	q.ParkedOf = q.expand(q.parked() + q.ParkedOfEntity + ` WHERE shard = $1 AND id = $2 AND position > $3
		AND parked IS NOT NULL ORDER BY position LIMIT $4`)
	q.Published = q.expand(`SELECT body FROM {published} WHERE shard = $1 AND run = $2`)
}

func (q *Queries) parked() string {
	return `SELECT ` + q.envelope + `, id, namespace, type, key, parked FROM `
}

// Parked is the query for a page of parked messages, of one namespace or of all.
func (q *Queries) Parked(f *journal.ParkedFilter) (query, bound string) {
	behind := `namespace = $1 AND (type, key, position) > ($2, $3, $4)`
	if f.Namespace == "" {
		behind = `(namespace, type, key, position) > ($1, $2, $3, $4)`
	}
	operator, bound := f.Bound()
	return q.expand(q.parked() + `{inbox} WHERE parked IS NOT NULL AND ` + behind + `
		AND type ` + operator + ` $5 AND type >= $6 ORDER BY namespace, type, key, position LIMIT $7`), bound
}

func (q *Queries) modules() {
	const deployments = `SELECT namespace, name, digest, version, config, allow_http, updated_at FROM {deployments}`
	q.Module = q.expand(`SELECT digest, manifest, created_at, ` + q.Binary + ` FROM {modules} WHERE digest = $1`)
	q.Digests = q.expand(`SELECT digest FROM {modules} WHERE digest >= $1 AND substr(digest, 1, length($1)) = $1
		ORDER BY digest LIMIT $2`)
	q.Deployment = q.expand(deployments + ` WHERE namespace = $1 AND name = $2`)
	q.Deployments = q.expand(deployments + ` WHERE namespace = $1 ORDER BY name`)
	q.Schedule = q.expand(`SELECT ` + scheduleColumns + `, input FROM {schedules} WHERE shard = $1 AND id = $2`)
	q.Schedules = q.expand(`SELECT ` + scheduleColumns + ` FROM {schedules} WHERE namespace = $1 AND name > $2
		ORDER BY name LIMIT $3`)
}
