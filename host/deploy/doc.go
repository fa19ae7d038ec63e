// Package deploy puts modules into use: it pushes them, unless something open still needs the code
// or the settings that they take away, and checks beforehand whether the open executions of a
// deployment fit another module.
//
// host/catalog validates, compiles and keeps modules; this package knows their users. Start reading
// at deployments.go.
package deploy
