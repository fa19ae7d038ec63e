package journal

import (
	"fmt"

	"github.com/cruster/cruster/abi"
)

// NameTaken is the error of a migration that makes a table whose name is taken: often the module is deployed
// in the namespace under another name already. By is the deployment there that has applied a migration of the same
// text, empty if there is none. The reason is the store's.
func NameTaken(d *Deployment, m *abi.Migration, reason, by string) *abi.Error {
	failed := abi.Errorf(
		abi.CodeMigrationFailed, "migration %d (%s) of deployment %q: %s", m.Version, m.Name, d.Name, reason,
	)
	if by == "" {
		return failed.WithHint(
			"If the table is that of another deployment: the deployments of a namespace share its tables. " +
				"Rename it, or push this module to a namespace of its own; see docs/recipes.md.",
		)
	}
	failed.Message += fmt.Sprintf("; deployment %q has applied the same migration", by)
	return failed.WithHint("The deployments of a namespace share its tables. Push the module as %q again, "+
		"or to a namespace of its own with --namespace; see docs/recipes.md.", by)
}
