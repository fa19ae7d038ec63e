//! The tables of the module. A step that was applied must not change any more.

use cruster::Migration;

pub const ORDERS: Migration = Migration::new(
    1,
    "orders",
    "
CREATE TABLE orders (
	order_id    TEXT PRIMARY KEY,
	email       TEXT NOT NULL,
	total_cents BIGINT NOT NULL,
	charge_id   TEXT,
	status      TEXT NOT NULL
)",
);

pub const RESERVATIONS: Migration = Migration::new(
    2,
    "reservations",
    "
CREATE TABLE reservations (
	order_id TEXT NOT NULL,
	sku      TEXT NOT NULL,
	quantity BIGINT NOT NULL
)",
);

pub const CHARGES: Migration = Migration::new(
    3,
    "charges",
    "
CREATE TABLE charges (
	charge_id    TEXT PRIMARY KEY,
	order_id     TEXT NOT NULL,
	amount_cents BIGINT NOT NULL,
	attempt      BIGINT NOT NULL,
	status       TEXT NOT NULL
)",
);

pub const NOTIFICATIONS: Migration = Migration::new(
    4,
    "notifications",
    "
CREATE TABLE notifications (
	notification_id TEXT PRIMARY KEY,
	order_id        TEXT NOT NULL,
	email           TEXT NOT NULL,
	body            TEXT NOT NULL
)",
);

pub const EFFECTS: Migration = Migration::new(
    5,
    "effects",
    "
CREATE TABLE order_effects (
	execution TEXT NOT NULL,
	step      TEXT NOT NULL,
	attempt   BIGINT NOT NULL
)",
);
