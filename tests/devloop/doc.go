// Package devloop does what a developer does all day: it edits the source of a module while `cruster-host dev --watch`
// runs, and looks at what that deploys and complains about. Hosts and compilers are the real ones.
package devloop
