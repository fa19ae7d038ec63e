package scaffold

import (
	"slices"
	"strings"

	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// maxName leaves room for the names that are made of it.
const maxName = 40

// reservedNames cannot name a crate: Cargo refuses them, or they would hide a crate that every
// module needs. They are refused in every language, so that a name does not depend on it.
var reservedNames = strings.Fields(
	`abstract alloc as async await become box break build const continue core crate cruster
	deps do dyn else enum examples extern false final fn for gen if impl in incremental let log loop macro main
	match mod move
	mut override priv proc-macro pub ref return self serde static std struct super test trait true try type typeof
	unsafe unsized use virtual where while yield`,
)

// checkName accepts a name that can be a folder, a deployment, a crate, and a part of the name of a table.
func checkName(name string) error {
	ok := name != "" && name[0] >= 'a' && name[0] <= 'z' && !strings.HasSuffix(name, "-") &&
		!strings.Contains(name, "--")
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	}
	switch {
	case !ok:
		return usage.Errorf(
			"%q cannot be the name of a project: take lower-case letters, digits and single hyphens, a letter first",
			name,
		)
	case len(name) > maxName:
		return usage.Errorf("%q is too long for the name of a project: it may have %d letters", name, maxName)
	case slices.Contains(reservedNames, name):
		return usage.Errorf("%q cannot be the name of a project: it is a reserved word", name)
	}
	return nil
}
