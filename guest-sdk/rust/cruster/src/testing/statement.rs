//! Statements that a host refuses whatever the database is.

use crate::codes;
use crate::wire::Fault;

/// How the statements begin that activities may run.
const ROWS: [&str; 9] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES", "TABLE", "MERGE", "REPLACE",
];

/// How comments and quoted texts begin and end.
const QUOTES: [(&str, &str); 6] = [
    ("--", "\n"),
    ("/*", "*/"),
    ("'", "'"),
    ("\"", "\""),
    ("`", "`"),
    ("[", "]"),
];

/// Refuses a text that is not one statement, and statements that do not read or
/// change rows.
pub(crate) fn check(sql: &str) -> Result<(), Box<Fault>> {
    let refuse = |message: String| Err(codes::SQL_FORBIDDEN.fault(message));
    let parts = statements(sql);
    let [statement] = parts.as_slice() else {
        return refuse(match parts.is_empty() {
            true => "there is no statement in the text".to_owned(),
            false => "a call runs one statement; there is more behind the first".to_owned(),
        });
    };
    let word: String = statement
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    let word = word.to_ascii_uppercase();
    match ROWS.contains(&word.as_str()) {
        true => Ok(()),
        false => refuse(format!("{word} statements are not for activities")),
    }
}

/// Takes a text apart at its semicolons. Comments become blank, and what holds
/// nothing is left out.
fn statements(mut sql: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    while let Some(first) = sql.chars().next() {
        let quoted = QUOTES.iter().find(|(open, _)| sql.starts_with(open));
        let length = match quoted {
            None => first.len_utf8(),
            Some((open, end)) => sql[open.len()..]
                .find(end)
                .map_or(sql.len(), |i| open.len() + i + end.len()),
        };
        let (text, rest) = sql.split_at(length);
        sql = rest;
        let part = parts.last_mut().expect("there is one from the start");
        match quoted {
            None if text == ";" => parts.push(String::new()),
            Some(("--" | "/*", _)) => part.push(' '),
            _ => part.push_str(text),
        }
    }
    parts
        .iter()
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_changed() {
        for sql in [
            "SELECT 1",
            " select 1 ; ",
            "-- a comment; with more\nWITH x AS (SELECT 1) SELECT * FROM x",
            "/* ; */ INSERT INTO t VALUES (';')",
            "UPDATE \"a;b\" SET x = 'it''s; fine'",
            "DELETE FROM [a;b];;",
        ] {
            assert!(check(sql).is_ok(), "{sql}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for sql in [
            "",
            " ; ",
            "-- nothing",
            "/* open",
            "COMMIT",
            "begin",
            "PRAGMA x",
            "CREATE TABLE t (x)",
            "nonsense",
            "SELECT 1; SELECT 2",
            "'SELECT'",
        ] {
            assert_eq!(check(sql).unwrap_err().code, "CR-3102", "{sql}");
        }
    }
}
