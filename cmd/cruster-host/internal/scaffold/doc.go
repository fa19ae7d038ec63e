// Package scaffold makes the project of a new module: the files that `cruster-host new` writes.
//
// [New] checks the request, [Project.Render] returns the files, and [Project.Write] is the one
// place that writes. The templates are below templates, a folder for each language.
//
// It imports packages terminal and usage, and nothing else of Cruster. Start reading at project.go.
package scaffold
