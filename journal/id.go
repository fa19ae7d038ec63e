package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// ID names an execution in the store: a hash of (namespace, workflow type, key), so that a start needs no look-up and
// no sequence to find its row.
type ID [16]byte

// IDOf is the id of the execution of a workflow under a key.
func IDOf(namespace, workflow, key string) ID {
	text := make([]byte, 0, 256) // on the stack: names are short, and each call of an entity needs its id
	for _, part := range [...]string{namespace, workflow, key} {
		text = strconv.AppendInt(text, int64(len(part)), 10)
		text = append(text, ':')
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return ID(sum[:16])
}

// IsZero tells whether id names no execution.
func (id ID) IsZero() bool { return id == ID{} }

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Shard is a slice of the key space.
type Shard uint16

// NumShards is how many shards a store has. It is written into every store by its migrations, and
// never changes there. A host of a cluster owns some of them: of 1,024 each of ten hosts has about a hundred,
// so that one more or less is a hundredth of its load.
const NumShards = 1024

// Shard is where the execution lives: the first ten bits of its id. So the order of (shard, id) is the order of ids.
func (id ID) Shard() Shard { return Shard(id[0])<<2 | Shard(id[1])>>6 }

// Name is how people call an execution: "deployment/Workflow/key".
func (e *Execution) Name() string { return e.Workflow + "/" + e.Key }

// ParseName splits the name of an execution. The key may hold slashes itself.
func ParseName(name string) (workflow, key string, ok bool) {
	deployment, rest, _ := strings.Cut(name, "/")
	w, key, _ := strings.Cut(rest, "/")
	if deployment == "" || w == "" || key == "" {
		return "", "", false
	}
	return deployment + "/" + w, key, true
}
