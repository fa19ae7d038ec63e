package op

import "github.com/cruster/cruster/journal"

// Note takes in the journal's record of the attempts of an activity.
func (o *Op) Note(en journal.Entry) {
	switch en.Kind {
	case journal.Attempt: // it came back: none is lost
		o.Attempts, o.NextAt, o.LastError = en.Attempts, en.NextAt, journal.Brief(en.Error)
		o.Lost, o.Released, o.BegunAt = 0, false, en.NextAt
	case journal.Lost:
		o.Lost, o.Released, o.BegunAt = en.Attempts, false, en.At
	case journal.Released:
		o.Lost, o.Released, o.BegunAt = en.Attempts, true, en.At
	}
}

// MayHaveBegun tells whether an attempt may have begun before a time.
func (o *Op) MayHaveBegun(before int64) bool { return max(o.IssuedAt, o.BegunAt) < before }

// LostSoFar counts the attempts that are lost if an attempt begins now, although an earlier host may have begun the one
// before.
func (o *Op) LostSoFar() uint32 {
	if o.Released {
		return o.Lost
	}
	return o.Lost + 1
}
