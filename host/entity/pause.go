package entity

import "time"

// pause is how long something is left alone that the host has failed at, longer each time.
type pause struct {
	failures int   // one after the other
	until    int64 // 0 if it is not left alone
}

// begin begins a pause.
func (p *pause) begin(now time.Time) (delay time.Duration) {
	p.failures++
	delay = min(50*time.Millisecond<<min(p.failures-1, 10), 30*time.Second)
	p.until = now.Add(delay).UnixNano()
	return delay
}

// over ends the pause once its time has come.
func (p *pause) over(now int64) {
	if p.until <= now {
		p.until = 0
	}
}

// earliest is the first of some times; 0 stands for no time.
func earliest(times ...int64) (first int64) {
	for _, t := range times {
		if t != 0 && (first == 0 || t < first) {
			first = t
		}
	}
	return first
}
