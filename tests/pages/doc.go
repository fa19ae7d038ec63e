// Package pages runs the commands that pages of the documentation show.
//
// Each page with commands has a script in testdata, which sets the stage and says in which order its blocks are run: as
// they stand on the page, in one shell, with the real cruster-host, grpcurl and Postgres. Replacements of a script are
// named in it: addresses and folders of the reader, and times that no test waits for. A block that no script runs fails
// the test.
package pages
