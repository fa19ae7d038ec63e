// Package scenarios has the first uses of entities, in Go and in Rust, on both stores: a counter and a
// key-value store in SQL, RPCs that several entities share, messages from one entity to others, timers. Each host is
// replaced by another in the middle. Singletons are in the tests of schedules: host and tests/crash.
package scenarios
