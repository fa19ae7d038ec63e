// Package view decides the output of the commands about executions, journals and deployments: the
// shapes of their JSON, and their text for people.
//
// The JSON is a contract with scripts: fields are added, never renamed. Payloads stand in it as the JSON that they are.
// The functions ending in Of make a shape of a message; those beginning with Write write the text of a message. All are
// functions of their arguments alone.
//
// The package imports the generated contract, client for its names of states, abi and package terminal. Start reading
// at execution.go.
package view
