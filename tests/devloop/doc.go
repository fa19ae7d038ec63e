// Package devloop follows a developer's day: it edits the source of a module while `cruster-host dev --watch`
// runs, and looks at the deployments and complaints. Hosts and compilers are the real ones.
package devloop
