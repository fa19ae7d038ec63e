package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/publish"
	"github.com/cruster/cruster/journal"
)

// maxPublishedKept bounds the published values that a run keeps in memory. Most publish little, and
// often; larger values are read from the store each time.
const maxPublishedKept = 4 << 10

// publishedNow returns the published values of the run, which may be none. The kept copy equals the
// store: no one else writes it while this host owns the run, and it is replaced when a write that
// replaces it is durable (tookPublish), and forgotten with all the rest when it is not known
// whether one is (unload).
func (r *run) publishedNow() (*journal.Published, error) {
	if r.published != nil {
		return r.published, nil
	}
	published, err := r.deps.rows.Published(r.deps.Host.Context(), r.row)
	if err == nil {
		r.keepPublished(published)
	}
	return published, err
}

func (r *run) keepPublished(p *journal.Published) {
	r.published = p
	if p.Size() > maxPublishedKept {
		r.published = nil
	}
}

// tookPublish notes the published values of a durable write.
func (r *run) tookPublish(w *journal.Write) {
	if w.Publish != nil {
		r.keepPublished(w.Publish)
	}
}

// publish adds to the values that a turn publishes. Refused tells the reason if not: all of the
// body is published, or nothing.
func (r *run) publish(did *ledger.Effects, body *abi.Publish) (refused *abi.Error, err error) {
	old := did.Publish
	if old == nil {
		if old, err = r.publishedNow(); err != nil {
			return nil, err
		}
	}
	published, refused, err := r.deps.publisher.Merged(r.deps.Host.Context(), r.row, old, body)
	if err != nil || refused != nil {
		return refused, err
	}
	if !publish.Same(published, old) {
		did.Publish = published
	}
	return nil, nil
}
