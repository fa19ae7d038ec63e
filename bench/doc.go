// Command bench measures Cruster, and its peers on the same machine in the same sitting. A workload is a file: w1.go to
// w13.go. The measured system runs in processes of its own: cruster-host, driven over gRPC on loopback, or the adapter
// of a peer (bench/peers), driven by lines of JSON. The loops that make the load are the same for all of them.
//
//	go run ./bench run      measure, and write lines of JSON
//	go run ./bench report   make docs/BENCHMARKS.md and its plots of such lines
//
// `make bench` and `make bench-peers` run it. It imports the client and the kernel of W9, and nothing else of Cruster.
// Start reading at run.go.
package main
