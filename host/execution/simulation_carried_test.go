package execution

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// carried is what the workflow of a random life has done in all of its runs. One that continues as another run
// hands it on as the input of that.
type carried struct {
	Runs     int                 // before this one
	Replies  map[string]string   // what it answered to updates, by id
	Received map[string][]string // what signals brought, by name and in order
	Shown    *abi.Publish        // what it has published, all together
}

func carriedBy(row *journal.Execution) carried {
	c := carried{Replies: map[string]string{}, Received: map[string][]string{}, Shown: &abi.Publish{}}
	if len(row.Input) > 1 { // the first run begins with nothing
		if err := abi.Unmarshal(row.Input, &c); err != nil {
			panic(err)
		}
	}
	if c.Runs > 0 && row.Run == row.Chain { // a fork: it does not take over what runs before that of its source have published
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
