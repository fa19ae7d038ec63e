package message

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// A start, an update and a signal may have the same request id, and are not the same request. An id
// has no control characters, so one of them tells the origins apart.
const (
	startPrefix  = "start\x00"
	updatePrefix = "update\x00"
)

// OriginOf is the origin of requests with an id; zero if there is none.
func OriginOf(requestID string) (journal.Origin, error) { return originOf("", requestID) }

// StartOriginOf is the origin of a start with a request id; zero if there is none.
func StartOriginOf(requestID string) (journal.Origin, error) {
	return originOf(startPrefix, requestID)
}

// UpdateOriginOf is the origin of an update with a request id; zero if there is none.
func UpdateOriginOf(requestID string) (journal.Origin, error) {
	return originOf(updatePrefix, requestID)
}

func originOf(prefix, requestID string) (journal.Origin, error) {
	if requestID == "" {
		return journal.Origin{}, nil
	}
	if err := abi.CheckKey(requestID); err != nil {
		return journal.Origin{}, abi.Errorf(
			abi.CodeBadRequest, "the request id %.40q is longer than %d bytes, not UTF-8, or has a control character",
			requestID, abi.MaxKey,
		)
	}
	return journal.OriginOfRequest(prefix + requestID), nil
}
