package call

import "slices"

// Bounds of a batch.
const (
	MaxBatch      = 256
	MaxBatchBytes = 1 << 20
)

// CutBatch tells how many calls from the head of a queue make the next batch: as many as both
// bounds allow, up to a call that has to wait for messages that are not in the queue yet. Messages
// up to position seen are. The first call may have more bytes than a batch. Some kinds are alone.
func CutBatch(queue []*Call, seen uint64) int {
	n, bytes := 0, 0
	for _, c := range queue {
		bytes += len(c.Input)
		switch {
		case c.After > seen, n == MaxBatch, n > 0 && bytes > MaxBatchBytes:
			return n
		case c.Alone():
			return max(n, 1)
		}
		n++
	}
	return n
}

// TakePassing takes the next batch of calls out of a queue that may pass by the others.
func TakePassing(queue []*Call, passes func(*Call) bool) (batch, rest []*Call) {
	bytes := 0
	for i, c := range queue {
		switch bytes += len(c.Input); {
		case len(batch) == MaxBatch, len(batch) > 0 && (bytes > MaxBatchBytes || (batch[0].Alone() || c.Alone())):
			return batch, append(rest, queue[i:]...)
		case passes(c) && (len(batch) == 0 || !c.Kind.Alone()):
			batch = append(batch, c)
		default:
			bytes -= len(c.Input)
			rest = append(rest, c)
		}
	}
	return batch, rest
}

// InsertMessage puts a message into a queue: in front of the first call that came after the
// message was acknowledged, or that is behind it in the inbox, or at the end.
func InsertMessage(queue []*Call, m *Call) []*Call {
	for i, c := range queue {
		if c.Position == 0 && c.After >= m.Position || c.Position > m.Position {
			return slices.Insert(queue, i, m)
		}
	}
	return append(queue, m)
}
