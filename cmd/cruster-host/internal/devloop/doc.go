// Package devloop rebuilds modules while people edit them: it looks at folders of source, builds
// changed folders, and hands the binary to its caller, who deploys it.
//
// # Invariants
//
//   - The last binary handed over was compiled from the folder as it was at one moment, unless the
//     folder has changed since: then a build of the newer content is in progress or has failed.
//   - A build that fails hands nothing over, so that the previous deployment stays.
//   - A folder has one build at a time. A change of the content ends the build under way.
//   - Files that are touched and keep their content build nothing, and a build that makes
//     the same binary again deploys nothing.
//
// source.go says which folders there are and how each is built, tree.go which differences count as
// a change, build.go runs compilers, and loop.go puts them together. The package imports usage and
// abi only, and takes its time from a clock. Start reading at loop.go.
package devloop
