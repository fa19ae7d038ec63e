package catalog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

var itemName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// checkManifest refuses a manifest that the host cannot serve.
func checkManifest(m *abi.Manifest) error {
	const most = 1000
	if len(m.Workflows)+len(m.Activities)+len(m.Entities)+len(m.Migrations)+len(m.Schedules) > most {
		return abi.Errorf(abi.CodeBadManifest, "the manifest lists more than %d items", most)
	}
	if len(m.Workflows)+len(m.Entities) == 0 {
		return abi.Errorf(abi.CodeBadManifest, "the module declares no workflow and no entity").
			WithHint("Declare one: in Go with cruster.NewWorkflow at package level, in Rust with #[workflow] and " +
				"cruster::module!.")
	}
	workflows, activities := map[string]bool{}, map[string]bool{}
	for _, w := range m.Workflows {
		if err := checkItem("workflow", w.Name, workflows, w.Input, w.Output); err != nil {
			return err
		}
		if !slices.Contains([]string{abi.KeyFromRequest, abi.KeyFromFunctionHashed, abi.KeyFromFunctionRaw}, w.Key) {
			return abi.Errorf(abi.CodeBadManifest, "workflow %q: %q is not a way to derive a key", w.Name, w.Key)
		}
		if err := checkMessages(&w); err != nil {
			return err
		}
		if err := checkPublished(&w); err != nil {
			return err
		}
	}
	for _, a := range m.Activities {
		if err := checkItem("activity", a.Name, activities, a.Input, a.Output); err != nil {
			return err
		}
	}
	if err := checkEntities(m.Entities); err != nil {
		return err
	}
	return checkMigrations(m.Migrations)
}

// maxMessages bounds the signals of a workflow, its queries, its updates, and its deferreds.
const maxMessages = 100

// checkMessages checks the signals, updates and queries that a workflow declares.
func checkMessages(w *abi.WorkflowInfo) error {
	if len(w.Signals) > maxMessages || len(w.Queries) > maxMessages || len(w.Updates) > maxMessages ||
		len(w.Deferreds) > maxMessages {
		return abi.Errorf(
			abi.CodeBadManifest, "workflow %q has more than %d signals, queries, updates or deferreds", w.Name,
			maxMessages,
		)
	}
	signals, queries, updates := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range w.Signals {
		if err := checkItem("signal", s.Name, signals, s.Value); err != nil {
			return err
		}
	}
	for _, q := range w.Queries {
		if err := checkItem("query", q.Name, queries, q.Input, q.Output); err != nil {
			return err
		}
	}
	for _, u := range w.Updates {
		if err := checkItem("update", u.Name, updates, u.Input, u.Output); err != nil {
			return err
		}
	}
	return checkDeferreds(w)
}

// checkDeferreds checks the promises of a workflow: each name has one type.
func checkDeferreds(w *abi.WorkflowInfo) error {
	names := map[string]bool{}
	for i := range w.Deferreds {
		d := &w.Deferreds[i]
		if err := checkItem("deferred", d.Name, names, d.Value); err != nil {
			return err
		}
		for j := range w.Deferreds[:i] {
			if o := &w.Deferreds[j]; d.Meets(o) {
				return abi.Errorf(
					abi.CodeBadManifest,
					"workflow %q: the deferreds %q and %q begin alike, so that a name could be one of both", w.Name,
					o.Name, d.Name,
				)
			}
		}
	}
	return nil
}

// checkPublished checks the published values that a workflow declares.
func checkPublished(w *abi.WorkflowInfo) error {
	if len(w.State) > abi.MaxPublished || len(w.Attributes) > abi.MaxPublished {
		return abi.Errorf(
			abi.CodeBadManifest, "workflow %q publishes more than %d values or attributes", w.Name, abi.MaxPublished,
		)
	}
	state, attributes := map[string]bool{}, map[string]bool{}
	for _, s := range w.State {
		if err := checkItem("state", s.Name, state, s.Value); err != nil {
			return err
		}
	}
	types := []string{abi.AttributeText, abi.AttributeNumber, abi.AttributeBool, abi.AttributeTime}
	for _, a := range w.Attributes {
		if err := checkItem("attribute", a.Name, attributes); err != nil {
			return err
		}
		if !slices.Contains(types, a.Type) {
			return abi.Errorf(
				abi.CodeBadManifest, "attribute %q of workflow %q: %.40q is not a type of attributes", a.Name, w.Name,
				a.Type,
			)
		}
	}
	return nil
}

func checkItem(kind, name string, seen map[string]bool, schemas ...*abi.Schema) error {
	if len(name) > abi.MaxName || !itemName.MatchString(name) {
		return abi.Errorf(abi.CodeBadManifest, "%.80q is not a valid name for a %s", name, kind)
	}
	if seen[name] {
		return abi.Errorf(abi.CodeBadManifest, "the %s %q is declared twice", kind, name)
	}
	seen[name] = true
	for _, s := range schemas {
		if err := s.Validate(); err != nil {
			return abi.Errorf(abi.CodeBadManifest, "%s %q: %v", kind, name, err)
		}
	}
	return nil
}

func checkMigrations(ms []abi.Migration) error {
	type step struct {
		version int64
		dialect string
	}
	seen, versions := map[step]bool{}, map[int64]bool{}
	for _, m := range ms {
		s := step{m.Version, m.Dialect}
		switch {
		case m.Version <= 0:
			return abi.Errorf(abi.CodeBadManifest, "migration %q: versions start at 1", m.Name)
		case !slices.Contains([]string{abi.DialectAny, abi.DialectSQLite, abi.DialectPostgres}, m.Dialect):
			return abi.Errorf(abi.CodeBadManifest, "migration %d: %q is not a SQL dialect", m.Version, m.Dialect)
		case seen[s] || seen[step{m.Version, abi.DialectAny}] || m.Dialect == abi.DialectAny && versions[m.Version]:
			return abi.Errorf(abi.CodeBadManifest, "migration %d is declared twice", m.Version)
		case len(m.Name) > abi.MaxName || strings.TrimSpace(m.SQL) == "" || len(m.SQL) > 1<<20:
			return abi.Errorf(
				abi.CodeBadManifest, "migration %d has no SQL, more than 1 MiB of it, or too long a name", m.Version,
			)
		}
		seen[s], versions[m.Version] = true, true
	}
	return nil
}
