package execution

import (
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// addressedElsewhere tells why a notice is not for a run of a chain; nil if it is.
func addressedElsewhere(m notice, run, chain journal.RunID) error {
	switch of := m.(type) {
	case ofRun:
		if of.run != run {
			return request.RunGone()
		}
	case ofChain:
		if of.chain != chain {
			return request.ChainGone()
		}
	}
	return nil
}

// content is a notice without its address.
func content(m notice) notice {
	switch of := m.(type) {
	case ofRun:
		return of.notice
	case ofChain:
		return of.notice
	default:
		return m
	}
}

// addressed is a notice for the chain that the caller has looked at.
func addressed(ref request.Ref, m notice) notice {
	if ref.Chain.IsZero() {
		return m
	}
	return ofChain{ref.Chain, m}
}
