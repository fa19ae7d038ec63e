// Package sqlitetest gives tests many embedded stores, one after the other, at little cost.
package sqlitetest
