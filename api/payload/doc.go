// Package payload turns JSON that people write into the msgpack that typed clients send, and msgpack back into JSON for
// people to read.
//
// Going in, the schema of the workflow's request decides: 5 becomes a float64 where a float is expected, a base64
// string becomes bytes, an RFC 3339 string becomes a timestamp. The same request therefore has the same bytes, and the
// same idempotency key, whether it was typed into a shell or sent by a program. Nothing is guessed and nothing is lost:
// a number that the target cannot hold exactly is refused.
//
// It imports abi and nothing else of Cruster. Start reading at from_json.go.
package payload
