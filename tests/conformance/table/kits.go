package table

import (
	_ "embed" // the list of exceptions
	"encoding/json"
	"fmt"
	"slices"
)

//go:embed kits.json
var exceptions []byte

// exception is why a test kit cannot run some cases.
type exception struct {
	Kits  []string `json:"kits"`
	Why   string   `json:"why"`
	Cases []string `json:"cases"`
}

// ForKit is the part of the table that the test kit of a language must pass.
func ForKit(language string) []Case {
	return slices.DeleteFunc(Load(), func(c Case) bool {
		return c.Only != "" && c.Only != language || slices.ContainsFunc(loadExceptions(), func(e exception) bool {
			return slices.Contains(e.Kits, language) && slices.Contains(e.Cases, c.Name)
		})
	})
}

func loadExceptions() []exception {
	var all []exception
	if err := json.Unmarshal(exceptions, &all); err != nil {
		panic(fmt.Sprintf("kits.json: %v", err))
	}
	return all
}
