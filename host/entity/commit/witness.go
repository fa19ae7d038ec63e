package commit

import "github.com/cruster/cruster/journal"

// IsEmpty tells whether a write changes nothing.
func IsEmpty(w *journal.Write) bool {
	return w.Entity == nil && !w.Destroy && w.Lock == nil && !w.Unlock &&
		len(w.Receipts)+len(w.Send)+len(w.Take)+len(w.Park)+len(w.Unpark) == 0
}

// WithWitness has a write have something that can be written once only.
func WithWitness(w *journal.Write, now int64) {
	if !IsEmpty(w) && len(w.Take)+len(w.Receipts) == 0 {
		w.Receipts = append(w.Receipts, Witness(now))
	}
}

// Witness is a receipt that no other write has.
func Witness(now int64) journal.Receipt { return journal.Receipt{Origin: journal.NewOrigin(), At: now} }
