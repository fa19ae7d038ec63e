package stdhttp

import "net/http"

// A module has no sockets that the transport of net/http could use. It stays one of its type,
// because libraries rely on that.
func init() {
	if standard, is := http.DefaultTransport.(*http.Transport); is {
		standard.RegisterProtocol("http", transport{})
		standard.RegisterProtocol("https", transport{})
	}
}
