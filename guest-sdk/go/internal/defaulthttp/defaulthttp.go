// Package defaulthttp has others make the calls of http.DefaultTransport: the host in a module, and the test kit in a
// test. It imports nothing of the SDK. Start with [TakeOver].
package defaulthttp

import "net/http"

// TakeOver has by make the calls of http.DefaultTransport. That stays one of its type, because libraries rely on it. It
// speaks HTTP/1 only: to speak HTTP/2 it would register a transport for https as well, and log that there is one. If
// another package has registered one before, it stays as it is.
func TakeOver(by http.RoundTripper) {
	if standard, is := http.DefaultTransport.(*http.Transport); is {
		takeOver(standard, by)
	}
}

func takeOver(standard *http.Transport, by http.RoundTripper) {
	if register(standard, "https", by) {
		standard.Protocols = new(http.Protocols)
		standard.Protocols.SetHTTP1(true)
		register(standard, "http", by)
	}
}

// register is false if there is a transport for the scheme.
func register(standard *http.Transport, scheme string, by http.RoundTripper) (done bool) {
	defer func() { done = recover() == nil }()
	standard.RegisterProtocol(scheme, by)
	return true
}

// inTest makes the calls in a test. Its fields are set by init functions, and these never run at the same
// time.
var inTest struct {
	answers, refuses http.RoundTripper
	taken            bool
}

// AnswerInTest has by make the calls in a test. Calls that it does not handle (http.ErrSkipAltProtocol) use the
// network. It is called by init functions.
func AnswerInTest(by http.RoundTripper) {
	inTest.answers = by
	takeOverInTest()
}

// RefuseInTest has by refuse calls in a test if no one answers them. It is called by init functions.
func RefuseInTest(by http.RoundTripper) {
	inTest.refuses = by
	takeOverInTest()
}

func takeOverInTest() {
	if !inTest.taken {
		inTest.taken = true
		TakeOver(routed{})
	}
}

// routed makes the calls in a test.
type routed struct{}

// RoundTrip implements http.RoundTripper.
func (routed) RoundTrip(req *http.Request) (*http.Response, error) {
	if inTest.answers != nil {
		return inTest.answers.RoundTrip(req)
	}
	return inTest.refuses.RoundTrip(req)
}
