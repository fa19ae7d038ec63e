package execution

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// carried is the history of the workflow of a random life over all of its runs. A run that
// continues as another hands it on as the input of that.
type carried struct {
	Runs     int                 // before this one
	Replies  map[string]string   // its answers to updates, by id
	Received map[string][]string // what signals brought, by name and in order
	Shown    *abi.Publish        // its published values, all together
}

func carriedBy(row *journal.Execution) carried {
	c := carried{Replies: map[string]string{}, Received: map[string][]string{}, Shown: &abi.Publish{}}
	if len(row.Input) > 1 { // the first run begins with nothing
		if err := abi.Unmarshal(row.Input, &c); err != nil {
			panic(err)
		}
	}
	if c.Runs > 0 && row.Run == row.Chain { // a fork: it does not take over values published by runs before its source
		c.Shown = &abi.Publish{}
	}
	return c
}

// next is the input of the run that continues this one.
func (c carried) next() []byte {
	c.Runs++
	return abi.MustMarshal(&c)
}

func (c carried) clone() carried {
	received := map[string][]string{}
	for name, values := range c.Received {
		received[name] = slices.Clone(values)
	}
	c.Replies, c.Received = maps.Clone(c.Replies), received
	return c
}
