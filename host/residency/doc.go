// Package residency decides which instances of workflows stay warm: how many, and
// for how long without use. It only decides. Whose instance is dropped, and that
// it is not one at work, is the business of the Evict function it is given.
//
// Images, hibernation and a budget in bytes belong in this room. The package
// imports journal for ids and host/metric. Start reading at victims.go.
package residency
