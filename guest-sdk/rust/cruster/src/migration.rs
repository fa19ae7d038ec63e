//! The steps of a module's SQL schema.

/// A step of the SQL schema of a module. Steps are applied once each, in the order
/// of their versions, when the module is deployed. Do not change a step that was
/// applied; add another.
///
/// ```
/// use cruster::Migration;
///
/// const STEPS: &[Migration] = &[
///     Migration::new(1, "orders", "CREATE TABLE orders (id TEXT PRIMARY KEY)"),
///     Migration::new(2, "index", "CREATE INDEX …").postgres(),
/// ];
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    pub(crate) version: u32,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
    pub(crate) dialect: &'static str,
}

impl Migration {
    /// A step for all databases.
    ///
    /// # Panics
    ///
    /// If the version is 0 or the SQL is empty; in a constant that is a compile
    /// error.
    pub const fn new(version: u32, name: &'static str, sql: &'static str) -> Self {
        assert!(version > 0, "the version of a migration is 1 or more");
        assert!(!sql.is_empty(), "a migration needs SQL");
        Migration {
            version,
            name,
            sql,
            dialect: "",
        }
    }

    /// The step for SQLite alone.
    #[must_use]
    pub const fn sqlite(self) -> Self {
        Migration {
            dialect: "sqlite",
            ..self
        }
    }

    /// The step for Postgres alone.
    #[must_use]
    pub const fn postgres(self) -> Self {
        Migration {
            dialect: "postgres",
            ..self
        }
    }

    /// Its version.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its statements.
    pub const fn sql(&self) -> &'static str {
        self.sql
    }

    /// `sqlite`, `postgres`, or empty for both.
    pub const fn dialect(&self) -> &'static str {
        self.dialect
    }
}
