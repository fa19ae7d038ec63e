// Package catalog knows the runnable code: modules by digest, compiled and with their manifest, and
// deployments by name. Both are caches over the store; the store decides.
//
// It imports host/wasm to compile, host/egress for the grants of a deployment, journal and abi.
// Start reading at catalog.go; push.go has the way of an upload, workflow.go the way of a start,
// describe.go the self-description of modules.
package catalog
