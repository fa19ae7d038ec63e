// Package newproject follows a newcomer's steps: it has `cruster-host new` write a project, and runs the commands of
// the project's README one after the other, against a real host.
package newproject
