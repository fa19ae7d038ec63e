package entities

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// input is an operation of a tally.
type input struct {
	tally string
	name  string // "add", "send", which adds and yields nothing, "read" or "drop"
	n     int64
}

// output is a reply to a client.
type output struct {
	known   bool
	refused bool
	n       int64
}

// model is a tally as tests/guests/conformance has it: a sum that is never below zero.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byTally := map[string][]porcupine.Operation{}
		for _, o := range history {
			tally := o.Input.(input).tally
			byTally[tally] = append(byTally[tally], o)
		}
		var all [][]porcupine.Operation
		for _, operations := range byTally {
			all = append(all, operations)
		}
		return all
	},
	Init: func() any { return int64(0) },
	Step: func(state, in, out any) (bool, any) {
		after, want := perform(state.(int64), in.(input))
		got := out.(output)
		return !got.known || got == want, after
	},
}

// perform is the effect of an operation on a sum, and its result.
func perform(sum int64, in input) (after int64, want output) {
	switch in.name {
	case "read":
		return sum, output{known: true, n: sum}
	case "drop":
		return 0, output{known: true, n: sum}
	}
	if sum+in.n < 0 {
		return sum, output{known: true, refused: true}
	}
	return sum + in.n, output{known: true, n: sum + in.n}
}

// TestTheModelSeesWhatIsWrong: a checker that finds nothing wrong with anything would prove
// nothing.
func TestTheModelSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	add := func(call, ret, n, sum int64) porcupine.Operation {
		return porcupine.Operation{
			Input: input{"a", "add", n}, Call: call, Return: ret, Output: output{known: true, n: sum},
		}
	}
	read := func(call, ret, sum int64) porcupine.Operation {
		return porcupine.Operation{
			Input: input{"a", "read", 0}, Call: call, Return: ret, Output: output{known: true, n: sum},
		}
	}
	unknown := porcupine.Operation{Input: input{"a", "add", 7}, Call: 3, Return: never, Output: output{}}
	message := porcupine.Operation{Input: input{"a", "send", 7}, Call: 3, Return: 4, Output: output{}}
	refused := porcupine.Operation{
		Input: input{"a", "add", -7}, Call: 3, Return: 4, Output: output{known: true, refused: true},
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		ok      bool
	}{
		"one after the other":      {[]porcupine.Operation{add(1, 2, 5, 5), read(3, 4, 5)}, true},
		"a lost update":            {[]porcupine.Operation{add(1, 4, 5, 5), add(2, 3, 2, 2)}, false},
		"performed twice":          {[]porcupine.Operation{add(1, 2, 5, 5), read(3, 4, 10)}, false},
		"a stale read":             {[]porcupine.Operation{add(1, 2, 5, 5), read(3, 4, 0)}, false},
		"unknown, and it happened": {[]porcupine.Operation{add(1, 2, 5, 5), unknown, read(5, 6, 12)}, true},
		"unknown, and it did not":  {[]porcupine.Operation{add(1, 2, 5, 5), unknown, read(5, 6, 5)}, true},
		"unknown, and it was undone": {
			[]porcupine.Operation{add(1, 2, 5, 5), unknown, read(5, 6, 12), read(7, 8, 5)}, false,
		},
		"a message is not lost":       {[]porcupine.Operation{add(1, 2, 5, 5), message, read(5, 6, 5)}, false},
		"a message is there":          {[]porcupine.Operation{add(1, 2, 5, 5), message, read(5, 6, 12)}, true},
		"what is refused has changed": {[]porcupine.Operation{add(1, 2, 5, 5), refused, read(5, 6, -2)}, false},
		"refused for no reason":       {[]porcupine.Operation{add(1, 2, 9, 9), refused}, false},
	} {
		require.Equal(t, c.ok, porcupine.CheckOperations(model, c.history), name)
	}
}
