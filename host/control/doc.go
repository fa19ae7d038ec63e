// Package control performs requests of clients to executions ([Executions]), entities ([Entities])
// and schedules ([Schedules]) that are there: it finds the receiver by its name, refuses a request
// that its code does not know, and hands the request over to host/execution, host/entity or
// host/schedule.
//
// Start reading at executions.go.
package control
