package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

// MaxUnread is how many messages an inbox keeps; older ones go.
const MaxUnread = 100

// Inbox is the state of the inbox of a member, over all rooms.
type Inbox struct {
	Unread []Message `json:"unread"`
}

// Inboxes are the inboxes; the id of one is the name of the member.
var Inboxes = cruster.NewStatefulEntity[Inbox]("Inbox")

// Deliver puts a message into the inbox. Rooms send it.
var Deliver = cruster.NewOperation(
	Inboxes,
	"deliver",
	func(_ *cruster.EntityContext, i *Inbox, m Message) (cruster.None, error) {
		i.Unread = append(i.Unread, m)
		if n := len(i.Unread) - MaxUnread; n > 0 {
			i.Unread = i.Unread[n:]
		}
		return cruster.None{}, nil
	},
)

// Read returns the unread messages, and marks them as read.
var Read = cruster.NewOperation(
	Inboxes,
	"read",
	func(_ *cruster.EntityContext, i *Inbox, _ cruster.None) ([]Message, error) {
		unread := i.Unread
		i.Unread = nil
		return unread, nil
	},
)
