// Command bank keeps accounts as entities (account.go) and moves money between them in critical sections (transfer.go):
// while a transfer looks at a balance and changes two accounts, no other call of them runs, and none sees one of the
// two changed alone.
package main

func main() {}
