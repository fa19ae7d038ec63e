// Package dashboard is the room of the pages that a host serves to people. There is no code here
// yet.
//
// A dashboard is a client that the host happens to serve: assets, and a handler that internal/serve
// of the command mounts. It may import client, the generated contract and api/payload, to show
// values; neither host nor journal.
package dashboard
