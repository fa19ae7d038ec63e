package postgres

import (
	"strings"
	"sync"
)

// paramCache remembers the types of parameters, so that only the first use of a statement has to
// ask. The types may change with a migration, even with another host's: an entry is dropped
// whenever its statement fails, and the activity, which is tried again, then asks anew.
type paramCache struct {
	mu    sync.Mutex
	types map[string][]uint32 // guarded by mu
}

const (
	maxCachedStatements = 4096
	maxCachedStatement  = 4096 // bytes of SQL
)

func paramKey(namespace, query string) string { return namespace + "\x00" + query }

func (c *paramCache) get(namespace, query string) ([]uint32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	types, ok := c.types[paramKey(namespace, query)]
	return types, ok
}

func (c *paramCache) put(namespace, query string, types []uint32) {
	if len(query) > maxCachedStatement {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.types == nil || len(c.types) >= maxCachedStatements {
		c.types = map[string][]uint32{} // simple, and rare
	}
	c.types[paramKey(namespace, query)] = types
}

func (c *paramCache) drop(namespace, query string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.types, paramKey(namespace, query))
}

// forget drops all of a namespace.
func (c *paramCache) forget(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.types {
		if strings.HasPrefix(key, namespace+"\x00") {
			delete(c.types, key)
		}
	}
}
