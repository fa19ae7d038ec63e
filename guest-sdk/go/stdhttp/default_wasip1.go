package stdhttp

import "net/http"

// A module has no sockets that the one of net/http could use.
func init() { http.DefaultTransport = transport{} }
