// Command conformance is a module of many small workflows, one for each thing
// that an SDK promises and for each way in which it can be misused, with a twin in
// each language that must behave the same. The
// tests of tests/conformance run them on every store, with and without eviction.
//
// Workflows report what they saw as values instead of failing, wherever they
// can: a table of expected results then says it all.
package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

func main() {}

// Seen is what became of a call, in a form that tests can compare.
type Seen struct {
	Code string `json:"code,omitempty"`
	Type string `json:"type,omitempty"`
	Text string `json:"text,omitempty"`
	// Value is absent if there was an error.
	Value *any `json:"value,omitempty"`
}

// seen turns a result into what tests compare: the message of an error only if
// it is the application's own, as the words of hosts may change.
func seen(value any, err error) Seen {
	if err == nil {
		return Seen{Value: &value}
	}
	s := Seen{Code: cruster.ErrorCode(err), Type: cruster.ErrorType(err)}
	switch s.Code {
	case "", "CR-3001", "CR-2006", "CR-2014":
		s.Text = err.Error()
	}
	return s
}
