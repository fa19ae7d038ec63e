//! Statements that a host refuses for any database.

use crate::codes;
use crate::testing::words::{closest, hinted};
use crate::value::Value;
use crate::wire::Fault;

/// How the statements begin that activities may run.
const ROWS: [&str; 9] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES", "TABLE", "MERGE", "REPLACE",
];

/// How comments and quoted texts begin and end. Strings of Postgres between dollar signs are
/// found by [`dollar_quoted`].
const QUOTES: [(&str, &str); 6] = [
    ("--", "\n"),
    ("/*", "*/"),
    ("'", "'"),
    ("\"", "\""),
    ("`", "`"),
    ("[", "]"),
];

/// How many parameters a statement may have: the limit of both databases.
const MAX_PARAMS: usize = 32_766;

/// A piece of a statement.
#[derive(Clone, Copy)]
enum Piece<'a> {
    /// One character.
    Char(&'a str),
    /// A parameter, such as `$1`: its number.
    Param(&'a str),
    /// A comment.
    Comment(&'a str),
    /// A text or a name in quotes.
    Quoted(&'a str),
}

/// Takes a statement apart.
fn pieces(sql: &str) -> Pieces<'_> {
    Pieces {
        rest: sql,
        in_name: false,
    }
}

struct Pieces<'a> {
    rest: &'a str,
    /// A dollar sign within a name begins neither a parameter nor a string.
    in_name: bool,
}

impl<'a> Pieces<'a> {
    fn take(&mut self, length: usize) -> &'a str {
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        text
    }

    /// A text in quotes or a comment, if one comes next.
    fn quoted(&mut self) -> Option<Piece<'a>> {
        let sql = self.rest;
        let (open, end) = QUOTES.iter().find(|(open, _)| sql.starts_with(open))?;
        let length = sql[open.len()..]
            .find(end)
            .map_or(sql.len(), |i| open.len() + i + end.len());
        let text = self.take(length);
        Some(match *open {
            "--" | "/*" => Piece::Comment(text),
            _ => Piece::Quoted(text),
        })
    }

    /// A token that begins with a dollar sign.
    fn dollar(&mut self) -> Piece<'a> {
        let after = &self.rest[1..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        match (digits, dollar_quoted(self.rest)) {
            (1.., _) => Piece::Param(&self.take(1 + digits)[1..]),
            (0, Some(length)) => Piece::Quoted(self.take(length)),
            (0, None) => Piece::Char(self.take(1)),
        }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let first = self.rest.chars().next()?;
        let in_name = self.in_name;
        self.in_name = false;
        if let Some(quoted) = self.quoted() {
            return Some(quoted);
        }
        if first == '$' && !in_name {
            return Some(self.dollar());
        }
        self.in_name = first.is_alphanumeric() || "_$".contains(first);
        Some(Piece::Char(self.take(first.len_utf8())))
    }
}

/// The length of a string that begins with `$$` or `$tag$`; none if there is none.
fn dollar_quoted(sql: &str) -> Option<usize> {
    let tag = sql[1..].find('$').map(|end| &sql[..end + 2])?;
    let name = &tag[1..tag.len() - 1];
    if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let end = sql[tag.len()..].find(tag);
    Some(end.map_or(sql.len(), |i| i + 2 * tag.len()))
}

/// A statement with `?1` in the place of `$1`: SQLite takes `$1` for the name of a parameter.
/// Quotes and comments are left alone.
///
/// ```
/// use cruster::testing::question_marks;
///
/// let sql = question_marks("UPDATE prices SET note = 'costs $1' WHERE id = $1 AND cents > $2");
/// assert_eq!(sql, "UPDATE prices SET note = 'costs $1' WHERE id = ?1 AND cents > ?2");
/// ```
pub fn question_marks(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    for piece in pieces(sql) {
        match piece {
            Piece::Param(number) => {
                out.push('?');
                out.push_str(number);
            }
            Piece::Char(text) | Piece::Comment(text) | Piece::Quoted(text) => out.push_str(text),
        }
    }
    out
}

/// Refuses parameters that a host does not hand to a database.
pub(crate) fn check_params(params: &[Value]) -> Result<(), Box<Fault>> {
    let refuse = |message: String| Err(codes::SQL_ARGUMENT.fault(message));
    let n = params.len();
    if n > MAX_PARAMS {
        return refuse(format!(
            "{n} arguments are too many; {MAX_PARAMS} is the limit"
        ));
    }
    for (i, param) in params.iter().enumerate() {
        let kind = match param {
            Value::List(_) => "[]interface {}",
            Value::Map(_) => "map[string]interface {}",
            Value::Extension(..) => "msgpack.RawMessage",
            _ => continue,
        };
        return refuse(format!("argument ${}: a {kind} is not a SQL value", i + 1));
    }
    Ok(())
}

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
        false => match closest(&word, &ROWS.map(str::to_owned)) {
            Some(meant) => Err(hinted(
                codes::SQL_FORBIDDEN.fault(format!(
                    "{word} is not a known statement; did you mean \"{meant}\"?"
                )),
                "Correct the statement.",
            )),
            None => refuse(format!("{word} statements are not for activities")),
        },
    }
}

/// Takes a text apart at its semicolons. Comments become blank, and empty statements are left out.
fn statements(sql: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for piece in pieces(sql) {
        let part = parts.last_mut().expect("there is one from the start");
        match piece {
            Piece::Char(";") => parts.push(String::new()),
            Piece::Comment(_) => part.push(' '),
            Piece::Param(number) => {
                part.push('$');
                part.push_str(number);
            }
            Piece::Char(text) | Piece::Quoted(text) => part.push_str(text),
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
            "SELECT $$a;b$$, $x$c;$$;d$x$, $1",
            "SELECT a$b FROM t WHERE c$d = $1",
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
            "SELECT $1; SELECT $2",
            "SELECT a$b;c$b",
            "'SELECT'",
        ] {
            assert_eq!(check(sql).unwrap_err().code, "CR-3102", "{sql}");
        }
        assert_eq!(
            check("insrt into t values (1)").unwrap_err().message,
            r#"INSRT is not a known statement; did you mean "INSERT"?"#
        );
    }

    #[test]
    fn parameters_are_outside_of_quotes() {
        for (sql, want) in [
            ("SELECT $1, $12", "SELECT ?1, ?12"),
            ("SELECT '$1', 'it''s $1', $1", "SELECT '$1', 'it''s $1', ?1"),
            (
                "SELECT \"$1\", `$1`, [$1], $1",
                "SELECT \"$1\", `$1`, [$1], ?1",
            ),
            ("SELECT $1 -- $1\n, $2", "SELECT ?1 -- $1\n, ?2"),
            ("SELECT /* $1 */ $1", "SELECT /* $1 */ ?1"),
            (
                "SELECT $$ $1 $$, $a$ $1 $$ $a$, $1",
                "SELECT $$ $1 $$, $a$ $1 $$ $a$, ?1",
            ),
            ("SELECT a$1, $1::text", "SELECT a$1, ?1::text"),
            ("SELECT 'open $1", "SELECT 'open $1"),
            ("SELECT $ä, $", "SELECT $ä, $"),
        ] {
            assert_eq!(question_marks(sql), want);
        }
    }

    #[test]
    fn parameters_are_plain_and_not_too_many() {
        assert!(check_params(&[Value::from(1), Value::Nil]).is_ok());
        let fault = check_params(&[Value::Nil, Value::List(Vec::new())]).unwrap_err();
        assert_eq!(fault.code, "CR-3105");
        assert_eq!(
            fault.message,
            "argument $2: a []interface {} is not a SQL value"
        );
        let fault = check_params(&vec![Value::Nil; MAX_PARAMS + 1]).unwrap_err();
        assert_eq!(
            fault.message,
            "32767 arguments are too many; 32766 is the limit"
        );
    }
}
