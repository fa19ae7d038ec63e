package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// emptied are schemas of stores that tests of this process have used and that are as new.
var emptied struct {
	mu      sync.Mutex
	schemas []string // guarded by mu
}

// Emptied is the name of a schema for one test, like [Schema]'s, but a test before it may have had the same: its store
// was emptied, and its guests were dropped. To make and drop all tables takes twice the time of most tests. It is for
// tests of the behaviour of stores; a test that changes tables, or looks at them, takes one from [Schema].
func Emptied(t testing.TB) string {
	t.Helper()
	emptied.mu.Lock()
	defer emptied.mu.Unlock()
	schema := ""
	if last := len(emptied.schemas) - 1; last >= 0 {
		schema, emptied.schemas = emptied.schemas[last], emptied.schemas[:last]
	} else {
		schema = newName()
	}
	dsn := DSN(t)
	t.Cleanup(func() { giveBack(t, dsn, schema) })
	return schema
}

// giveBack empties a schema for the next test. One of a test that failed is dropped: it may be in any state.
func giveBack(t testing.TB, dsn, schema string) {
	ctx := context.Background() // the test has ended
	if t.Failed() {
		if err := drop(ctx, dsn, schema); err != nil {
			t.Errorf("pgtest: drop schema %s: %v", schema, err)
		}
		return
	}
	if err := empty(ctx, dsn, schema); err != nil {
		t.Errorf("pgtest: empty schema %s: %v", schema, err)
		return
	}
	emptied.mu.Lock()
	defer emptied.mu.Unlock()
	emptied.schemas = append(emptied.schemas, schema)
}

func empty(ctx context.Context, dsn, schema string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := dropGuests(ctx, conn, schema); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(emptyAll, schema))
	return err
}

// dropEmptied drops the schemas behind the last test, if the server stays.
func dropEmptied() (err error) {
	dsn := os.Getenv(EnvDSN)
	if dsn == "" {
		return nil
	}
	emptied.mu.Lock()
	defer emptied.mu.Unlock()
	for _, schema := range emptied.schemas {
		err = errors.Join(err, drop(context.Background(), dsn, schema))
	}
	return err
}
