package hibernation

// Policy decides when a state is saved, by the entries that a replay would have to read.
type Policy struct {
	// Entries is how many there are at least since the last state when a guest gives up its instance. Negative says
	// that none is ever saved.
	Entries int
}

// atWork bounds how often the state of a guest that works all the time is saved, for the case that its host crashes.
const (
	atWorkEntries = 1000
	// A state grows with the steps that it knows of, so the longer a journal is, the less often: all states together
	// are linear in its length.
	atWorkShare = 8
)

// Enabled tells whether states are saved and used.
func (p Policy) Enabled() bool { return p.Entries >= 0 }

// WhenDropped tells whether the state of a guest that has seen the entries up to seq is saved when its instance is
// dropped. The state saved last had seen those up to saved.
func (p Policy) WhenDropped(seq, saved uint64) bool {
	return p.Enabled() && seq > saved && seq-saved >= uint64(p.Entries)
}

// AtWork tells the same of a guest that goes on.
func (p Policy) AtWork(seq, saved uint64) bool {
	return p.WhenDropped(seq, saved) && seq-saved >= max(atWorkEntries, seq/atWorkShare)
}
