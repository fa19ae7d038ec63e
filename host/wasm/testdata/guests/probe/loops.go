package main

import "strings"

// Loops that do not end. The lines of each are between two marks.
var loops = map[string]func(n int32) int32{
	"allocates": allocates,
	"tight":     func(n int32) int32 { return tight() },
	"middle":    middle,
	"nested":    nested,
	"closure":   closure,
	"inlined":   inlined,
	"leaf":      leaf,
	"calls":     calls,
	"library":   library,
	"copies":    copies,
	"straight":  straight,
	"method":    func(n int32) int32 { return (&walker{}).method(n) },
	"branches": func(n int32) int32 {
		return branches(n, n)
	},
}

// Loops without a body, in other things. Go does not note their lines.
var emptyLoops = map[string]func(n int32) int32{
	"only":    func(int32) int32 { return only() },
	"counted": counted,
	"choice":  choice,
	"one of":  oneOf,
	"behind":  behind,
}

func init() {
	behaviours["loop"] = func(name string) int32 { return loops[name](7) }
	behaviours["empty"] = func(name string) int32 { return emptyLoops[name](7) }
}

//go:noinline
func tight() int32 {
	log(0, nil, 0)
	// begin "tight"
	for {
	}
	// end "tight"
}

// middle has loops before and behind the endless one.
//
//go:noinline
func middle(n int32) int32 {
	sum := int32(0)
	for i := range int32(20) {
		sum += i * n
	}
	for i := sum; i > 0; i /= 2 {
		if i%3 == 0 {
			sum++
		}
	}
	if sum < 0 {
		return 0
	}
	// begin "middle"
	for sum != 0 {
		if n%2 == 0 {
			sum = sum*n | 1
		}
		n = n*3 + 1
		sum |= 1
	}
	// end "middle"
	for i := range n {
		if sum += i; sum < 0 {
			break
		}
	}
	for n > 0 {
		n--
		spun++
	}
	return sum
}

//go:noinline
func nested(n int32) int32 {
	sum := int32(0)
	for i := range int32(100) {
		sum += i
	}
	// begin "nested"
	for n != 0 {
		for i := range int32(1000) {
			for j := i; j > 0; j /= 2 {
				sum += j
			}
		}
		n |= 1
	}
	// end "nested"
	return sum
}

//go:noinline
func closure(n int32) int32 {
	run(func() {
		for range 10 {
			n++
		}
		// begin "closure"
		for n != 0 {
			n = n*5 | 1
		}
		// end "closure"
		spun++
	})
	return n
}

//go:noinline
func run(f func()) { f() }

//go:noinline
func inlined(n int32) int32 {
	spun++
	n = small(n) // line "inlined"
	spun++
	return n
}

// small is inlined.
func small(n int32) int32 {
	// begin "inlined"
	for n != 0 {
		n = n*5 | 1
	}
	// end "inlined"
	return n
}

// leaf calls a function that the caller pays for.
//
//go:noinline
func leaf(n int32) int32 {
	spun++
	// begin "leaf"
	for n != 0 {
		spun = int(plus(int32(spun), n))
	}
	// end "leaf"
	spun--
	return n
}

//go:noinline
func plus(a, b int32) int32 { return a + b }

// calls calls a function that has a loop itself.
//
//go:noinline
func calls(n int32) int32 {
	spun++
	// begin "calls"
	for n != 0 {
		n = collatz(n) + 6
	}
	// end "calls"
	spun--
	return n
}

//go:noinline
func collatz(n int32) int32 {
	for n > 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
	}
	return n
}

// library calls code of others, some of it inlined.
//
//go:noinline
func library(n int32) int32 {
	spun++
	// begin "library"
	for n != 0 {
		var b strings.Builder
		b.WriteString("seven")
		b.WriteByte('s')
		spun += strings.Count(strings.Repeat(b.String(), 20), "s")
	}
	// end "library"
	spun--
	return n
}

// copies has a copy that takes long.
//
//go:noinline
func copies(n int32) int32 {
	from, to := make([]byte, 1<<20), make([]byte, 1<<20)
	// begin "copies"
	for n != 0 {
		copy(to, from)
	}
	// end "copies"
	return n + int32(to[0])
}

// straight does much behind a call without a jump.
//
//go:noinline
func straight(n int32) int32 {
	sum := 0
	for i := range 5 {
		sum += i
	}
	n += int32(sum)
	// begin "straight"
	for n != 0 {
		n = collatz(n) + 6
		spun += 3
		n = mix(mix(mix(mix(mix(mix(mix(mix(n))))))))
		spun *= 5
		n = mix(mix(mix(mix(mix(mix(mix(mix(n))))))))
		spun /= 3
		n = n&0xffff | 1
	}
	// end "straight"
	spun++
	return n
}

// mix is inlined.
func mix(n int32) int32 { return n*n ^ n>>3 + n/7 }

// allocates has the runtime collect garbage.
//
//go:noinline
func allocates(n int32) int32 {
	spun++
	// begin "allocates"
	for n != 0 {
		garbage = append([]*walker{{steps: int64(n)}}, &walker{})
	}
	// end "allocates"
	return n
}

var garbage []*walker

type walker struct{ steps int64 }

//go:noinline
func (w *walker) method(n int32) int32 {
	w.steps = 1
	// begin "method"
	for w.steps != 0 {
		w.steps++
		if w.steps > 1<<40 {
			w.steps = 1
		}
	}
	// end "method"
	return n
}

// branches jumps much, and never to where the loop begins but for its next round.
//
//go:noinline
func branches(n, m int32) int32 {
	spun++
	// begin "branches"
	for {
		switch n % 5 {
		case 0:
			m++
		case 1:
			m += 3
			if m%7 == 2 {
				n++
				continue
			}
		case 2:
			m *= 2
		default:
			m--
		}
		if m < 0 {
			m = 5
		}
		n += m
		if n < 0 {
			n = 1
		}
	}
	// end "branches"
}

//go:noinline
func only() int32 {
	// begin "only"
	for {
	}
	// end "only"
}

//go:noinline
func counted(n int32) int32 {
	// begin "counted"
	for i := range n {
		spun += int(i)
	}
	for i := 0; ; i++ {
	}
	// end "counted"
}

//go:noinline
func choice(n int32) int32 {
	spun++
	// begin "choice"
	if n > 5 {
		for {
		}
	}
	// end "choice"
	for i := range n {
		spun += int(i)
	}
	return plus(n, 2)
}

//go:noinline
func oneOf(n int32) int32 {
	switch n {
	case 1:
		spun++
	// begin "one of"
	case 7:
		for {
		}
	// end "one of"
	case 8:
		for {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	case 9:
		for {
		}
	}
	return n
}

//go:noinline
func behind(n int32) int32 {
	for n < 100 {
		if n%3 == 2 {
			n = plus(n, 4)
		}
		n++
	}
	spun = int(plus(n, 1))
	// begin "behind"
	for {
	}
	// end "behind"
}
