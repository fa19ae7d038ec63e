// Command lenient is the version that decodes every grade.
package main

import "github.com/cruster/cruster/tests/guests/renewals"

// Grade is any grade.
type Grade struct{ name string }

// MarshalText makes the grade text.
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.name), nil }

// UnmarshalText takes any text.
func (g *Grade) UnmarshalText(text []byte) error {
	g.name = string(text)
	return nil
}

func init() {
	renewals.Declare(func(g Grade) (Grade, bool) { return Grade{"gold"}, g.name == "silver" })
}

func main() {}
