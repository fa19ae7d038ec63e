// The probe follows its input, by the raw ABI: the first word is the name of a behaviour, the rest is its
// argument. It does without fmt, so that it stays small: the tests compile it under the race detector.
package main

import (
	"hash/maphash"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

//go:wasmimport cruster input
func input(ptr unsafe.Pointer)

//go:wasmimport cruster output
func output(ptr unsafe.Pointer, size uint32)

//go:wasmimport cruster log
func log(level int32, ptr unsafe.Pointer, size uint32)

//go:wasmimport cruster cancel
func cancel(op uint32)

//go:wasmimport cruster sleep
func sleep(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport cruster http
func http(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(ptr unsafe.Pointer, size uint32) uint32

// inits is filled by package initialisation.
var inits = map[string]int{"a": 1, "b": 2, "c": 3}

func main() {}

//go:wasmexport cruster_abi
func crusterABI() int32 { return 1 }

//go:wasmexport cruster_describe
func crusterDescribe() { put([]byte("manifest")) }

//go:wasmexport cruster_start
func crusterStart(size int32) int32 {
	name, arg, _ := strings.Cut(string(take(size)), " ")
	behave, ok := behaviours[name]
	if !ok {
		put([]byte("no behaviour " + name))
		return 0
	}
	return behave(arg)
}

// mailbox connects the parked coroutine with cruster_resume.
var mailbox, answers = make(chan string), make(chan string)

//go:wasmexport cruster_resume
func crusterResume(size int32) int32 {
	mailbox <- string(take(size))
	answer := <-answers
	if answer == "" {
		return 1
	}
	put([]byte(answer))
	return 0
}

var behaviours = map[string]func(arg string) int32{
	"echo": func(arg string) int32 { put([]byte(arg)); return 0 },
	// park sums the numbers it is resumed with until it is told to end.
	"park": func(string) int32 {
		go func() {
			sum := 0
			for {
				n, err := strconv.Atoi(<-mailbox)
				if err != nil {
					answers <- "sum " + strconv.Itoa(sum)
					return
				}
				sum += n
				answers <- ""
			}
		}()
		return 1
	},
	"op": func(arg string) int32 {
		n := sleep(ptr([]byte(arg)), uint32(len(arg)))
		if n < 0 {
			put(take(-n))
			return 0
		}
		cancel(uint32(n))
		put([]byte("op " + strconv.Itoa(int(n))))
		return 0
	},
	"bigop": func(string) int32 {
		body := make([]byte, 4<<20+1)
		put(take(-sleep(ptr(body), uint32(len(body)))))
		return 0
	},
	"call": func(arg string) int32 {
		n := http(ptr([]byte(arg)), uint32(len(arg)))
		if n < 0 {
			n = -n
		}
		put(take(n))
		return 0
	},
	"log": func(arg string) int32 {
		log(4, ptr([]byte(arg)), uint32(len(arg)))
		os.Stdout.WriteString("out one\n\nout two\n")
		os.Stdout.WriteString("no end")
		os.Stderr.WriteString("\nerr one\n")
		put([]byte("ok"))
		return 0
	},
	"count": func(string) int32 {
		return tally(7) // line "call"
	},
	// spin says so before it begins.
	"spin": func(string) int32 {
		log(0, nil, 0)
		for {
			spun++
		}
	},
	"panic": func(arg string) int32 { panic("told to: " + arg) },
	"nil":   func(string) int32 { var p *struct{ x int32 }; return p.x },
	"exit": func(arg string) int32 {
		code, _ := strconv.Atoi(arg)
		os.Stderr.WriteString("bye\n")
		os.Exit(code)
		return 0
	},
	"recurse": func(string) int32 { return int32(deeper(1)) },
	"hog": func(string) int32 {
		for {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	},
	"nap": func(string) int32 {
		time.Sleep(time.Second) // line "nap"
		put([]byte("slept"))
		return 0
	},
	"alarm": func(string) int32 {
		<-time.After(time.Second) // line "alarm"
		return 0
	},
	"blink": func(string) int32 {
		time.Sleep(time.Microsecond)
		put([]byte("blinked"))
		return 0
	},
	"deadlock": func(string) int32 { var mu sync.Mutex; mu.Lock(); mu.Lock(); return 0 },
	"crowd": func(string) int32 {
		for range 200 {
			go func() { <-mailbox }()
		}
		runtime.Gosched()
		panic("in a crowd")
	},
	// chance shows everything that could differ from one run to the next.
	"chance": func(string) int32 {
		var b strings.Builder
		note := func(n int64) { b.WriteString(strconv.FormatInt(n, 10) + " ") }
		m := map[int64]string{}
		for i := range int64(50) {
			m[i] = "x"
		}
		for k := range m {
			note(k)
		}
		for _, n := range inits {
			note(int64(n))
		}
		var secret int64
		randomGet(unsafe.Pointer(&secret), 8)
		note(secret)
		note(rand.Int64())
		note(time.Now().UnixNano())
		ch, done := make(chan int64, 8), make(chan bool)
		for i := range int64(8) {
			go func() { runtime.Gosched(); ch <- i; done <- true }()
		}
		for range 8 {
			<-done
		}
		for range 8 {
			note(<-ch)
		}
		a, c := make(chan int64, 100), make(chan int64, 100)
		for range 20 {
			a <- 1
			c <- 2
			select {
			case n := <-a:
				note(n)
			case n := <-c:
				note(n)
			}
		}
		put([]byte(b.String()))
		return 0
	},
	// sources shows the first value of each source of chance, one a line.
	"sources": func(string) int32 {
		m, order := map[int]bool{}, ""
		for i := range 100 {
			m[i] = true
		}
		for k := range m {
			order += strconv.Itoa(k) + " "
		}
		a, b, chosen := make(chan string, 200), make(chan string, 200), ""
		for range 200 {
			a <- "a"
			b <- "b"
			select {
			case s := <-a:
				chosen += s
			case s := <-b:
				chosen += s
			}
		}
		var secret int64
		randomGet(unsafe.Pointer(&secret), 8)
		put([]byte("map " + order + "\nselect " + chosen + "\nrand " + strconv.FormatInt(rand.Int64(), 10) +
			"\nmaphash " + strconv.FormatUint(maphash.String(maphash.MakeSeed(), "x"), 10) + "\nwasi " +
			strconv.FormatInt(secret, 10)))
		return 0
	},
	// clock shows the wall clock, and how the monotonic one goes on from the initialisation.
	"clock": func(string) int32 {
		before := time.Now()
		time.Sleep(time.Second)
		after := time.Now()
		put([]byte(strconv.FormatInt(before.Unix(), 10) + " " + after.Sub(before).String() + " " +
			strconv.FormatInt(after.Unix(), 10) + " init+" + time.Since(epoch()).String()))
		return 0
	},
	// churn is an ordinary program: it allocates, collects, locks and yields.
	"churn": func(string) int32 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		total := 0
		for range 8 {
			wg.Go(func() {
				for i := range 200 {
					b := make([]byte, 10_000)
					b[i] = 1
					mu.Lock()
					total += len(b)
					mu.Unlock()
					runtime.Gosched()
				}
			})
		}
		wg.Wait()
		runtime.GC()
		time.AfterFunc(time.Hour, func() {})
		put([]byte(strconv.Itoa(total)))
		return 0
	},
	"status":  func(arg string) int32 { n, _ := strconv.Atoi(arg); return int32(n) },
	"twice":   func(string) int32 { put([]byte("a")); put([]byte("b")); return 0 },
	"again":   func(string) int32 { var b [64]byte; input(unsafe.Pointer(&b)); return 0 },
	"both":    func(string) int32 { put([]byte("a")); return 1 },
	"big":     func(string) int32 { put(make([]byte, 4<<20+1)); return 0 },
	"full":    func(string) int32 { put(make([]byte, 4<<20)); return 0 },
	"wildout": func(string) int32 { output(unsafe.Pointer(uintptr(0xffff0000)), 100); return 0 },
	"wildop":  func(string) int32 { return sleep(unsafe.Pointer(uintptr(0xfffffff0)), 100) },
	"wildlog": func(string) int32 { log(0, unsafe.Pointer(uintptr(0)), 0xffffffff); return 0 },
}

// epoch is when the monotonic clock was first read: the package time does so when it is initialised, and a time keeps
// how long after that it was.
func epoch() time.Time {
	now := time.Now()
	text := now.String() // ends with m=+seconds
	_, since, _ := strings.Cut(text, "m=+")
	seconds, _ := strconv.ParseFloat(since, 64)
	return now.Add(-time.Duration(seconds * float64(time.Second)).Truncate(time.Microsecond))
}

var (
	spun  int
	hoard [][]byte
)

//go:noinline
func deeper(n int) int {
	if n == 0 {
		return 0
	}
	return deeper(n+1) + 1 // line "deeper"
}

func take(size int32) []byte {
	if size <= 0 {
		return nil
	}
	b := make([]byte, size)
	input(unsafe.Pointer(&b[0]))
	return b
}

func put(b []byte) { output(ptr(b), uint32(len(b))) }

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

//go:noinline
func tally(from int32) int32 {
	return endless(from, 2) + 1 // line "tally"
}

// endless says that it has begun.
//
//go:noinline
func endless(n, by int32) int32 {
	log(0, nil, 0)
	for n != 0 {
		n = n*by | 1 // line "endless"
	}
	return n
}
