package entity

import "slices"

// Bounds of a batch.
const (
	maxBatch      = 256
	maxBatchBytes = 1 << 20
)

// cutBatch tells how many calls from the head of a queue make the next batch: as many as both
// bounds allow, up to a call that has to wait for messages that are not in the queue yet. Messages
// up to position seen are. The first call may have more bytes than a batch. Some kinds are alone.
func cutBatch(queue []*call, seen uint64) int {
	n, bytes := 0, 0
	for _, c := range queue {
		bytes += len(c.input)
		switch {
		case c.after > seen, n == maxBatch, n > 0 && bytes > maxBatchBytes:
			return n
		case c.alone():
			return max(n, 1)
		}
		n++
	}
	return n
}

// takePassing takes the next batch of calls out of a queue that may pass by the others.
func takePassing(queue []*call, passes func(*call) bool) (batch, rest []*call) {
	bytes := 0
	for i, c := range queue {
		switch bytes += len(c.input); {
		case len(batch) == maxBatch, len(batch) > 0 && (bytes > maxBatchBytes || (batch[0].alone() || c.alone())):
			return batch, append(rest, queue[i:]...)
		case passes(c) && (len(batch) == 0 || !c.kind.alone()):
			batch = append(batch, c)
		default:
			bytes -= len(c.input)
			rest = append(rest, c)
		}
	}
	return batch, rest
}

// insertMessage puts a message into a queue: in front of the first call that came after the
// message was acknowledged, or that is behind it in the inbox, or at the end.
func insertMessage(queue []*call, m *call) []*call {
	for i, c := range queue {
		if c.position == 0 && c.after >= m.position || c.position > m.position {
			return slices.Insert(queue, i, m)
		}
	}
	return append(queue, m)
}
