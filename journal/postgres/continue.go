package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// continuation has another run take the place of one.
//
// A write of a run that does not change its row, as a link, locks the row against its end; a
// continuing write locks the row against that in turn, before all else: see rowLocks. So other
// writes of the old run are there by then, and are garbage with the rest, or find another run.
type continuation struct {
	id         journal.ID
	run, chain journal.RunID
	*journal.Continuation
}

func queueContinues(b *pgx.Batch, continues []continuation) {
	var k runKeys
	var next, inputs, pinned, chains [][]byte
	var digests []string
	for _, c := range continues {
		k.add(c.id, c.run)
		next, inputs, chains = append(next, c.Run[:]), append(inputs, c.Input), append(chains, c.chain[:])
		pinned, digests = append(pinned, abi.MustMarshal(&c.Pinned)), append(digests, c.Digest)
	}
	b.Queue(
		stmtContinue, k.shards, k.ids, k.runs, next, inputs, digests, pinned, abi.MustMarshal(&journal.Waiting{}),
		k.len(), chains,
	)
}

// parts divides decided writes into consecutive plans: a run that continues, and its other writes,
// cannot be in one; and a superseding run is alone.
func parts(writes []*journal.Write) (parts [][]*journal.Write) {
	first := 0
	continued := map[journal.ID]bool{} // → whether it continues in this part
	parked := map[journal.ID]bool{}    // whether messages are parked in this part: behind all that are unparked
	for i, w := range writes {
		if !w.Replace.IsZero() || i > 0 && !writes[i-1].Replace.IsZero() {
			// A run is superseded before all else of its part.
			if i > first {
				parts = append(parts, writes[first:i])
			}
			first = i
			clear(continued)
			clear(parked)
		}
		before, seen := continued[w.ID]
		if seen && (before || w.Continue != nil) || len(w.Unpark) > 0 && parked[w.ID] {
			parts, first = append(parts, writes[first:i]), i
			clear(continued)
			clear(parked)
		}
		parked[w.ID] = parked[w.ID] || len(w.Park) > 0
		continued[w.ID] = continued[w.ID] || w.Continue != nil
	}
	return append(parts, writes[first:])
}
