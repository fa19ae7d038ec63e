package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

var plainNamespace = regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,35}$`)

// guestName is the name of both the schema and the role of a namespace. The first "__" ends Cruster's own schema, which
// holds none itself: so no two pairs share a name, and no guest schema is one of Cruster's. A namespace that does not
// fit an identifier is named by its hash, which begins with a letter and a double underscore that no plain name can
// begin with.
func guestName(schema, namespace string) string {
	if plainNamespace.MatchString(namespace) && !strings.HasPrefix(namespace, "x__") {
		return schema + "__" + namespace
	}
	sum := sha256.Sum256([]byte(namespace))
	return schema + "__x__" + hex.EncodeToString(sum[:12])
}

// quote makes an identifier safe inside SQL.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// lockKey derives the key of an advisory lock from the protected names.
func lockKey(parts ...string) int64 {
	sum := sha256.Sum256([]byte("cruster\x00" + strings.Join(parts, "\x00")))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
