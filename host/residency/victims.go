package residency

import (
	"iter"
	"time"

	"github.com/cruster/cruster/journal"
)

// resident is one warm instance.
type resident struct {
	id   journal.ID
	used time.Time
}

// surplus chooses which of n instances go when at most limit may stay: those whose
// last use is longest ago. The one that was just added stays, whatever the limit.
func surplus(oldestFirst iter.Seq[resident], n, limit int, added journal.ID) []journal.ID {
	var victims []journal.ID
	for r := range oldestFirst {
		if n-len(victims) <= limit {
			break
		}
		if r.id != added {
			victims = append(victims, r.id)
		}
	}
	return victims
}

// idle chooses the instances that were not used since a time.
func idle(oldestFirst iter.Seq[resident], since time.Time) []journal.ID {
	var victims []journal.ID
	for r := range oldestFirst {
		if !r.used.Before(since) {
			break
		}
		victims = append(victims, r.id)
	}
	return victims
}
