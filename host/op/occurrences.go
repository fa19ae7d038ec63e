package op

import "github.com/cruster/cruster/journal"

// Occurrences counts the ops of each identity that a guest has issued.
type Occurrences map[journal.StepID]uint32

// Count gives an op its occurrence, and with it the name of its step.
func (c Occurrences) Count(o *Op) {
	o.Occurrence = 0
	identity := o.Op.Step()
	c[identity]++
	o.Occurrence = c[identity]
	o.StepID = o.Op.Step()
}
