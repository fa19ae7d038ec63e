package entity

import (
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/request"
	"github.com/cruster/cruster/journal"
)

// post puts a message into the box of the actor of an entity, which comes into memory if it is not there.
type post func(id journal.ID, m message)

var (
	_ parked.Inboxes = post(nil)
	_ request.Actors = post(nil)
)

// Arrive implements [request.Actors].
func (p post) Arrive(c *call.Call) { p(c.Ref.ID(), arrival{c}) }

// Mail implements [request.Actors] and [parked.Inboxes].
func (p post) Mail(id journal.ID, position uint64) { p(id, mail{position}) }

// Room implements [request.Actors].
func (p post) Room(c *call.Call) <-chan error {
	reply := make(chan error, 1)
	p(c.Ref.ID(), roomRequest{c, reply})
	return reply
}

// Withdraw implements [request.Actors].
func (p post) Withdraw(c *call.Call, w *call.Waiter, unless call.Progress) <-chan bool {
	reply := make(chan bool, 1)
	p(c.Ref.ID(), withdrawal{call: c, waiter: w, reply: reply, unless: unless})
	return reply
}

// waiters asks an entity for the callers that wait for it.
func (p post) waiters(id journal.ID) <-chan lock.Waiters {
	reply := make(chan lock.Waiters, 1)
	p(id, waitersRequest{reply})
	return reply
}
