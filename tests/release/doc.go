// Package release builds the archive of a release with scripts/release.sh, and checks that it is the same each time and
// has a binary that runs.
package release
