// Package residency decides which instances of workflows stay warm: for how long without use, and which go when others
// need the memory. It only decides. Whose instance is dropped, and that it is not one at work, is the business of the
// Evict function it is given.
//
// The remains of a dropped instance are not its business: images are host/wasm's, saved states
// host/hibernation's. The package imports journal for ids, host/budget and host/metric. Start reading at residency.go.
package residency
