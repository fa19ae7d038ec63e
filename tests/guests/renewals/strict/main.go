// Command strict is the version that knows one grade alone.
package main

import (
	"fmt"

	"github.com/cruster/cruster/tests/guests/renewals"
)

// Grade is silver.
type Grade struct{ name string }

// MarshalText makes the grade text.
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.name), nil }

// UnmarshalText takes silver.
func (g *Grade) UnmarshalText(text []byte) error {
	g.name = string(text)
	if g.name != "silver" {
		return fmt.Errorf("there is no grade %s", text)
	}
	return nil
}

func init() {
	renewals.Declare(func(g Grade) (Grade, bool) { return g, false })
}

func main() {}
