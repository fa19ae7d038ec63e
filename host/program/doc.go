// Package program finds the code of executions: the module of a run, the declaration of its workflow
// there, how to make an instance of it, and the row of a run that begins or goes on with it.
//
// It stands below host/execution, which asks for the code of each run, and host/launch, which makes
// new runs. It reads the catalog and writes nothing.
//
// It imports host/catalog, host/guest, journal and abi. Start reading at programs.go.
package program
