package mailbox

import "math"

// order is how far an entity has followed its inbox.
//
// A call comes behind every message that was acknowledged before it came: a sender that sends, is
// told that the message is durable, and calls, has the two performed in this order. So a call
// knows the highest position that was acknowledged by then (call.Call.After), and the entity up to
// where messages have been in memory (seen). A call may begin if the first is not above the second.
//
// Invariant: of the acknowledgements that the entity has heard of, those at a position up to seen
// are of messages that have been in memory.
//
// The naive design takes the last position of a page as seen. That is right where positions become
// visible in their order, as on SQLite. On Postgres a transaction draws positions when it inserts,
// and others see them when it commits: of two in flight, say from a sending entity and from a
// client, the later position may be visible first. A page with position 7 then says nothing about
// position 6. Nor does a gap: a transaction that was rolled back leaves one for ever, so that
// waiting for gaps to close could wait for nothing.
//
// Known are the positions that were acknowledged: the sender's commit returns its position, and the
// entity learns of it before the sender does. So nothing is concluded about positions that no one
// was told of. An acknowledgement at or below seen, of a message that is not in memory, takes seen
// back below it (missing), and the inbox is read again, from its beginning. A read that begins after
// an acknowledgement finds the message, or it was taken; a read that was in flight may have missed
// it, and is worth no more than the positions below it (see). Transactions in flight are few and
// positions grow, so a call waits for few reads, whatever else is sent meanwhile.
//
// A call that came before such an acknowledgement waits for the same read, without need. It may be
// in front of as many messages as are kept in memory. So that read is not put off for the room
// that they take.
type order struct {
	acked     uint64 // the highest position that was acknowledged
	seen      uint64 // up to which messages have been in memory
	past      bool   // there may be messages from before the host began
	overtaken bool   // a message was acknowledged at a position below seen
	// told is the lowest position that was acknowledged since the reading under way began; 0 if none was.
	told uint64
}

// after is the position that a call comes behind which arrives now.
func (o *order) after() uint64 {
	if o.past {
		return math.MaxUint64
	}
	return o.acked
}

// acknowledged records the position of a message whose sender is told that it is durable.
func (o *order) acknowledged(position uint64) { o.acked = max(o.acked, position) }

// missing records an acknowledged position whose message is not in memory. A reading that is under way may miss it.
func (o *order) missing(position uint64, reading bool) {
	if position <= o.seen {
		o.seen, o.overtaken = position-1, true
	}
	if reading && (o.told == 0 || position < o.told) {
		o.told = position
	}
}

// beginReading forgets the acknowledgements that the next reading cannot miss.
func (o *order) beginReading() { o.told, o.overtaken = 0, false }

// goBack forgets that messages from a position on have been in memory.
func (o *order) goBack(position uint64) { o.seen = min(o.seen, position-1) }

// see records the facts of a page about the order of positions. It reports whether all messages from before the host
// began are in memory from now on, or were.
func (o *order) see(p *Page) (knowsPast bool) {
	o.seen = max(o.seen, p.Last)
	if !p.More {
		o.seen = max(o.seen, p.Acked)
		if knowsPast = o.past; knowsPast {
			o.past, o.acked = false, max(o.acked, o.seen)
		}
	}
	if o.told != 0 && o.told <= o.seen {
		o.seen, o.overtaken = o.told-1, true
	}
	return knowsPast
}
