// Package twomodules has the tests of binaries with more than one module: that of crustertest itself has
// one, and would have to say so in every test.
package twomodules
