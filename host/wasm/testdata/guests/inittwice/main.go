// A guest whose SDK refuses its declarations.
package main

func init() { panic(`cruster: workflow "w" is registered twice`) }

func main() {}

//go:wasmexport cruster_abi
func crusterABI() int32 { return 1 }

//go:wasmexport cruster_describe
func crusterDescribe() {}

//go:wasmexport cruster_start
func crusterStart(int32) int32 { return 0 }

//go:wasmexport cruster_resume
func crusterResume(int32) int32 { return 0 }
