// Package crusterv1 is the generated Go form of the protobuf contract cruster.v1. The .proto files beside it are the
// source and carry the documentation; ../../generate.sh makes the rest from them. It imports nothing of Cruster. Most
// Go programs want package client instead. Start reading at workflow.proto.
package crusterv1
