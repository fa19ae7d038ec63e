// Package usage has the error of a mistake on the command line. The rooms that read flags return it, and package cli
// makes an exit code and a hint of it.
//
// It imports nothing of Cruster.
package usage
