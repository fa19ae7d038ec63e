package catalog

import "github.com/cruster/cruster/abi"

// Bounds of the requests of a type of entity.
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
			return abi.Errorf(
				abi.CodeBadManifest,
				"entity %q: an idle time of %d, a concurrency of %d or a mailbox of %d is out of bounds",
				e.Name, e.IdleTime, e.Concurrency, e.Mailbox,
			)
		case e.ShardGroup != "" && (len(e.ShardGroup) > abi.MaxName || !itemName.MatchString(e.ShardGroup)):
			return abi.Errorf(
				abi.CodeBadManifest, "entity %q: %.80q is not a valid name for a shard group", e.Name, e.ShardGroup,
			)
		}
		if err := checkOperations(e); err != nil {
			return err
		}
	}
	return nil
}

// checkOperations refuses declarations that one of the two kinds of entities does not have.
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
			return abi.Errorf(
				abi.CodeBadManifest, "entity %q: operation %q is read-only, but the entity has no state", e.Name,
				o.Name,
			)
		case o.Persisted && e.State != nil:
			return abi.Errorf(
				abi.CodeBadManifest,
				"entity %q: operation %q is persisted, which every operation of an entity with a state is", e.Name,
				o.Name,
			)
		}
	}
	return nil
}
