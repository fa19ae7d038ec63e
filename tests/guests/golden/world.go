//go:build wasip1

package main

import (
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// machine is the workflow's view of itself and of the machine.
func (s *seen) machine(ctx cruster.Context) {
	s.add("execution", cruster.ExecutionID(ctx))
	s.add("namespace", cruster.Namespace(ctx))
	s.add("environment", fmt.Sprint(os.Environ(), len(os.Args)))
	_, err := os.ReadFile("/etc/hostname")
	s.add("a file", fmt.Sprint(err))
	_, err = os.ReadDir("/")
	s.add("a folder", fmt.Sprint(err))
	_, err = os.Stdin.Read(make([]byte, 8))
	s.add("standard input", fmt.Sprint(err))
	n, err := fmt.Println("printed by the workflow")
	s.add("standard output", fmt.Sprint(n, err))
	zero := float64(len(os.Environ())) // there is none
	// Its bits are the processor's; in a payload they are always the same.
	s.add("not a number", []any{zero / zero, float32(zero) / float32(zero)})
	s.clock(ctx)
}

// clock shows the wall clocks and the monotonic one: how long after the
// initialisation of the module it is, which a time writes as m=+seconds. A variable
// that holds the time of the initialisation would show the same, but a module that
// reads the clock while it initialises itself has no image.
func (s *seen) clock(ctx cruster.Context) {
	_, monotonic, _ := strings.Cut(time.Now().String(), "m=")
	s.add("clocks", fmt.Sprint(cruster.Now(ctx).UnixNano(), " ", time.Now().UnixNano(), " ", monotonic))
}

// chance draws from all that is random in an ordinary program.
func (s *seen) chance(ctx cruster.Context) {
	s.add("uuid", cruster.UUID(ctx))
	s.add("random number of the SDK", fmt.Sprint(cruster.Rand(ctx).Uint64()))
	s.add("random number of the library", fmt.Sprint(rand.Uint64()))
	var secret [8]byte
	_, _ = crand.Read(secret[:])
	s.add("random bytes", hex.EncodeToString(secret[:]))
	set := map[int]bool{}
	for i := range 40 {
		set[i] = true
	}
	order := ""
	for k := range set {
		order += fmt.Sprint(k, " ")
	}
	s.add("order of a map", order)
	s.add("choices of select", choices())
}

func choices() (picked string) {
	a, b := make(chan int, 1), make(chan int, 1)
	for range 16 {
		a <- 1
		b <- 2
		select {
		case n := <-a:
			picked += fmt.Sprint(n)
			<-b
		case n := <-b:
			picked += fmt.Sprint(n)
			<-a
		}
	}
	return picked
}
