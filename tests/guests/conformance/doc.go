// Command conformance is a module of many small workflows, one for each promise of an SDK and for each way to misuse
// it. The same module exists in each language and must behave the same. The tests of tests/conformance run the
// workflows on every store, with and without eviction.
//
// Where possible, workflows return their observations as a value instead of failing, so that the tests are a table of
// expected results.
package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

func main() {}

// Seen is the outcome of a call, in a form that tests can compare.
type Seen struct {
	Code string `json:"code,omitempty"`
	Type string `json:"type,omitempty"`
	Text string `json:"text,omitempty"`
	// Value is absent if there was an error.
	Value *any `json:"value,omitempty"`
}

// seen converts a result to a Seen. It keeps the message of an error only if the application wrote it, because messages
// of the host may change.
func seen(value any, err error) Seen {
	if err == nil {
		return Seen{Value: &value}
	}
	s := Seen{Code: cruster.ErrorCode(err), Type: cruster.ErrorType(err)}
	switch s.Code {
	case "", "CR-3001", "CR-2006", "CR-2014", "CR-6006":
		s.Text = err.Error()
	}
	return s
}
