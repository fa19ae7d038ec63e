package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

func TestRoom(t *testing.T) {
	t.Parallel()
	chat := crustertest.NewEntities(t)
	for i, name := range []string{"ada", "bob", "ada"} {
		n, err := crustertest.Call(chat, Join, "lobby", name)
		require.NoError(t, err)
		require.Equal(t, int64(min(i+1, 2)), n)
	}
	post := func(from, text string) error {
		_, err := crustertest.Call(chat, Post, "lobby", Line{From: from, Text: text})
		return err
	}
	require.NoError(t, post("ada", "hello"))
	require.NoError(t, post("bob", "hi"))
	require.Equal(t, "not_a_member", cruster.ErrorType(post("eve", "psst")))

	said := []Message{
		{Number: 1, Room: "lobby", From: "ada", Text: "hello"}, {Number: 2, Room: "lobby", From: "bob", Text: "hi"},
	}
	history, err := crustertest.Call(chat, History, "lobby", cruster.None{})
	require.NoError(t, err)
	require.Equal(t, said, history)
	unread, err := crustertest.Call(chat, Read, "bob", cruster.None{})
	require.NoError(t, err)
	require.Equal(t, said, unread)
	unread, err = crustertest.Call(chat, Read, "bob", cruster.None{})
	require.NoError(t, err)
	require.Empty(t, unread)

	left, err := crustertest.Call(chat, Leave, "lobby", "bob")
	require.NoError(t, err)
	require.Equal(t, int64(1), left)
	require.NoError(t, post("ada", "still here?"))
	unread, err = crustertest.Call(chat, Read, "bob", cruster.None{})
	require.NoError(t, err)
	require.Empty(t, unread)
}

func TestRoomForgets(t *testing.T) {
	t.Parallel()
	chat := crustertest.NewEntities(t)
	_, err := crustertest.Call(chat, Join, "lobby", "ada")
	require.NoError(t, err)
	for i := range MaxHistory + 5 {
		_, err := crustertest.Call(chat, Post, "lobby", Line{From: "ada", Text: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	history, err := crustertest.Call(chat, History, "lobby", cruster.None{})
	require.NoError(t, err)
	require.Len(t, history, MaxHistory)
	require.Equal(t, int64(6), history[0].Number)
	unread, err := crustertest.Call(chat, Read, "ada", cruster.None{})
	require.NoError(t, err)
	require.Len(t, unread, MaxUnread)
}
