// Package faultpoint names the points of the engine at which a crash could tear something apart. Tests enumerate them
// all ([Points]), crash the engine at each, and compare with an undisturbed run.
//
// It imports nothing of Cruster. A new durable step gets a point before its commit and one behind it;
// tests/crash/testdata/points then says which scenario reaches them.
package faultpoint
