// Package twomodules has the tests of binaries with more than one module: the test binary of
// crustertest itself has one, and would have to name it in every test.
package twomodules
