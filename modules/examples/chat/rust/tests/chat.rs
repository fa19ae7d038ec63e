//! Runs the chat without a host.

use chat_rust::{Inbox, Line, MAX_HISTORY, MAX_UNREAD, MODULE, Room};
use cruster::testing::Test;

fn line(from: &str, text: &str) -> Line {
    Line {
        from: from.to_owned(),
        text: text.to_owned(),
    }
}

#[test]
fn members_read_what_was_said() {
    let chat = Test::new(&MODULE).entities();
    let lobby = Room::client(&chat, "lobby");
    for (name, members) in [("ada", 1), ("bob", 2), ("ada", 2)] {
        assert_eq!(lobby.join(name.to_owned()).call().unwrap(), members);
    }
    assert_eq!(lobby.post(line("ada", "hello")).call().unwrap(), 1);
    assert_eq!(lobby.post(line("bob", "hi")).call().unwrap(), 2);
    let error = lobby.post(line("eve", "psst")).call().unwrap_err();
    assert_eq!(error.error_type(), "not_a_member");
    chat.settle();

    let said = lobby.history().call().unwrap();
    let texts: Vec<&str> = said.iter().map(|m| m.text.as_str()).collect();
    assert_eq!(texts, ["hello", "hi"]);
    let bob = Inbox::client(&chat, "bob");
    assert_eq!(bob.read().call().unwrap(), said);
    assert!(bob.read().call().unwrap().is_empty());

    assert_eq!(lobby.leave("bob".to_owned()).call().unwrap(), 1);
    lobby.post(line("ada", "still here?")).call().unwrap();
    chat.settle();
    assert!(bob.read().call().unwrap().is_empty());
}

#[test]
fn a_room_forgets() {
    let chat = Test::new(&MODULE).entities();
    let lobby = Room::client(&chat, "lobby");
    lobby.join("ada".to_owned()).call().unwrap();
    for i in 0..MAX_HISTORY + 5 {
        lobby.post(line("ada", &i.to_string())).call().unwrap();
    }
    chat.settle();
    let history = lobby.history().call().unwrap();
    assert_eq!(history.len(), MAX_HISTORY);
    assert_eq!(history[0].number, 6);
    let unread = Inbox::client(&chat, "ada").read().call().unwrap();
    assert_eq!(unread.len(), MAX_UNREAD);
}
