// Package publish decides what the published values of a run become when its workflow publishes more.
//
// It imports journal and abi. Start reading at publish.go.
package publish
