// A guest that computes: it hashes, sorts, and writes and reads JSON. The length of the input of a turn selects the
// work. tests/guests/compute/rust is the same in Rust.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
)

type order struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Items []string `json:"items"`
	Total int      `json:"total"`
}

var (
	block   = make([]byte, 64<<10)
	numbers = make([]uint32, 5_000)
	orders  = make([]order, 50)
	sink    byte
)

func init() {
	for i := range orders {
		orders[i] = order{i, "an order with a name", []string{"apple", "pear", "plum", "quince"}, i * 100}
	}
}

func hash() {
	sum := sha256.Sum256(block)
	sink += sum[0]
}

func sort() {
	n := uint32(1)
	for i := range numbers {
		n = n*1664525 + 1013904223
		numbers[i] = n
	}
	slices.SortFunc(numbers, func(a, b uint32) int {
		if a < b {
			return -1
		}
		return 1
	})
	sink += byte(numbers[0])
}

func writeAndRead() {
	text, err := json.Marshal(orders)
	if err != nil {
		panic(err)
	}
	var again []order
	if err := json.Unmarshal(text, &again); err != nil {
		panic(err)
	}
	sink += byte(len(again))
}

func main() {}

//go:wasmexport cruster_abi
func crusterABI() int32 { return 1 }

//go:wasmexport cruster_describe
func crusterDescribe() {}

//go:wasmexport cruster_start
func crusterStart(int32) int32 { return 1 }

//go:wasmexport cruster_resume
func crusterResume(length int32) int32 {
	switch length {
	case 1:
		hash()
	case 2:
		sort()
	case 3:
		writeAndRead()
	}
	return 1
}
