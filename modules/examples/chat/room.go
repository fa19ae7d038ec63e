package main

import (
	"slices"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// MaxHistory is how many messages a room remembers: a state is saved whole.
const MaxHistory = 100

// Message is one in a room.
type Message struct {
	// Number counts the messages of the room, from 1.
	Number int64  `json:"number"`
	Room   string `json:"room"`
	From   string `json:"from"`
	Text   string `json:"text"`
}

// Room is the state of a room.
type Room struct {
	Members []string  `json:"members"`
	Posted  int64     `json:"posted"`
	History []Message `json:"history"`
}

// Rooms are the rooms, by name.
var Rooms = cruster.NewStatefulEntity[Room]("Room", cruster.Concurrency(8))

// Join adds a member, and returns how many there are.
var Join = cruster.NewOperation(Rooms, "join", func(_ *cruster.EntityContext, r *Room, name string) (int64, error) {
	if name == "" {
		return 0, cruster.Errorf("invalid_member", "a member has a name")
	}
	if !slices.Contains(r.Members, name) {
		r.Members = append(r.Members, name)
	}
	return int64(len(r.Members)), nil
})

// Leave takes a member out, and returns how many there are.
var Leave = cruster.NewOperation(Rooms, "leave", func(_ *cruster.EntityContext, r *Room, name string) (int64, error) {
	r.Members = slices.DeleteFunc(r.Members, func(m string) bool { return m == name })
	return int64(len(r.Members)), nil
})

// Line is the request of Post.
type Line struct {
	From string `json:"from"`
	Text string `json:"text"`
}

// Post says something in the room, and returns the number of the message. The inboxes of the
// members get it in the order in which it was said.
var Post = cruster.NewOperation(Rooms, "post", func(ctx *cruster.EntityContext, r *Room, line Line) (int64, error) {
	if !slices.Contains(r.Members, line.From) {
		return 0, cruster.Errorf("not_a_member", "%s is not in the room", line.From)
	}
	r.Posted++
	m := Message{Number: r.Posted, Room: ctx.ID(), From: line.From, Text: line.Text}
	r.History = append(r.History, m)
	if n := len(r.History) - MaxHistory; n > 0 {
		r.History = r.History[n:]
	}
	for _, name := range r.Members {
		if err := Deliver.On(name).Send(ctx, m); err != nil {
			return 0, err
		}
	}
	return m.Number, nil
})

// History is the list of the latest messages. It writes nothing.
var History = cruster.NewReadOnly(
	Rooms,
	"history",
	func(_ *cruster.ReadContext, r Room, _ cruster.None) ([]Message, error) {
		return r.History, nil
	},
)
