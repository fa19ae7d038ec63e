// Package cruster is the Go SDK for Cruster workflows.
package cruster
