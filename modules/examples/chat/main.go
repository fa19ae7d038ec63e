// Command chat is a chat room: a room is an entity, and so is the inbox of each member. A post to a room is
// sent on to the inboxes in the same commit.
package main

func main() {}
