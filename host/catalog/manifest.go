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
	if len(m.Workflows)+len(m.Activities)+len(m.Entities)+len(m.Migrations) > most {
		return abi.Errorf(abi.CodeBadManifest, "the manifest lists more than %d items", most)
	}
	if len(m.Workflows)+len(m.Entities) == 0 {
		return abi.Errorf(abi.CodeBadManifest, "the module declares no workflow and no entity").
			WithHint("Declare one: in Go with cruster.NewWorkflow at package level, in Rust with #[workflow] and cruster::module!.")
	}
	workflows, activities := map[string]bool{}, map[string]bool{}
	for _, w := range m.Workflows {
		if err := checkItem("workflow", w.Name, workflows, w.Input, w.Output); err != nil {
			return err
		}
		if !slices.Contains([]string{abi.KeyFromRequest, abi.KeyFromFunctionHashed, abi.KeyFromFunctionRaw}, w.Key) {
			return abi.Errorf(abi.CodeBadManifest, "workflow %q: %q is not a way to derive a key", w.Name, w.Key)
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

// Bounds of what a type of entity may ask for.
const (
	maxConcurrency = 1000
	maxMailbox     = 100_000
)

func checkEntities(entities []abi.EntityInfo) error {
	types := map[string]bool{}
	for i := range entities {
		e := &entities[i]
		if err := checkItem("entity", e.Name, types, e.State); err != nil {
			return err
		}
		switch {
		case len(e.Operations) == 0:
			return abi.Errorf(abi.CodeBadManifest, "entity %q: it has no operations", e.Name)
		case e.IdleTime < 0 || e.Concurrency > maxConcurrency || e.Mailbox > maxMailbox:
			return abi.Errorf(abi.CodeBadManifest, "entity %q: an idle time of %d, a concurrency of %d or a mailbox of %d is not possible", e.Name, e.IdleTime, e.Concurrency, e.Mailbox)
		case e.ShardGroup != "" && (len(e.ShardGroup) > abi.MaxName || !itemName.MatchString(e.ShardGroup)):
			return abi.Errorf(abi.CodeBadManifest, "entity %q: %.80q is not a valid name for a shard group", e.Name, e.ShardGroup)
		}
		if err := checkOperations(e); err != nil {
			return err
		}
	}
	return nil
}

// checkOperations refuses what one of the two kinds of entities does not have.
func checkOperations(e *abi.EntityInfo) error {
	const most = 1000
	if len(e.Operations) > most {
		return abi.Errorf(abi.CodeBadManifest, "entity %q: it has more than %d operations", e.Name, most)
	}
	operations := map[string]bool{}
	for i := range e.Operations {
		o := &e.Operations[i]
		if err := checkItem("operation", o.Name, operations, o.Input, o.Output); err != nil {
			return abi.Errorf(abi.CodeBadManifest, "entity %q: %s", e.Name, abi.AsError(err).Message)
		}
		switch {
		case o.ReadOnly && e.State == nil:
			return abi.Errorf(abi.CodeBadManifest, "entity %q: operation %q is read-only, but the entity has no state", e.Name, o.Name)
		case o.Persisted && e.State != nil:
			return abi.Errorf(abi.CodeBadManifest, "entity %q: operation %q is persisted, which every operation of an entity with a state is", e.Name, o.Name)
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
			return abi.Errorf(abi.CodeBadManifest, "migration %d has no SQL, more than 1 MiB of it, or too long a name", m.Version)
		}
		seen[s], versions[m.Version] = true, true
	}
	return nil
}
