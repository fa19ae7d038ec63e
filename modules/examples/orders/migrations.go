package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "orders", SQL: `
CREATE TABLE orders (
	order_id    TEXT PRIMARY KEY,
	email       TEXT NOT NULL,
	total_cents BIGINT NOT NULL,
	charge_id   TEXT,
	status      TEXT NOT NULL
)`},
	cruster.Migration{Version: 2, Name: "reservations", SQL: `
CREATE TABLE reservations (
	order_id TEXT NOT NULL,
	sku      TEXT NOT NULL,
	quantity BIGINT NOT NULL
)`},
	cruster.Migration{Version: 3, Name: "charges", SQL: `
CREATE TABLE charges (
	charge_id    TEXT PRIMARY KEY,
	order_id     TEXT NOT NULL,
	amount_cents BIGINT NOT NULL,
	attempt      BIGINT NOT NULL,
	status       TEXT NOT NULL
)`},
	cruster.Migration{Version: 4, Name: "notifications", SQL: `
CREATE TABLE notifications (
	notification_id TEXT PRIMARY KEY,
	order_id        TEXT NOT NULL,
	email           TEXT NOT NULL,
	body            TEXT NOT NULL
)`},
	cruster.Migration{Version: 5, Name: "effects", SQL: `
CREATE TABLE order_effects (
	execution TEXT NOT NULL,
	step      TEXT NOT NULL,
	attempt   BIGINT NOT NULL
)`},
)
