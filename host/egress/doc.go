// Package egress is the only way out of the sandbox: it makes the HTTP calls of activities, to hosts that the
// deployment was granted and to no others.
//
// A grant names the hosts that may be called ([ParseGrants]); DNS decides the address of a name, and an attacker may
// control it. So there are two checks: the host of the URL must be granted, and the address that is then dialled must
// be a public one, or lie in a range that was granted by itself. The dialer makes the second check on the very address
// it connects to: a name that resolves differently the second time (DNS rebinding) gains nothing.
//
// Nothing of the host's environment leaks into a call: no proxy settings from the environment, no cookies, no
// credentials, no followed redirects. The response is bounded in size and in time, and is never decompressed here.
//
// The package imports abi and nothing else of Cruster. Start at client.go.
package egress
