// Package dashboard is the room of the pages that a host serves to people. There is no code here
// yet.
//
// It is a face beside api/grpcserver: assets, and a handler that internal/serve of the command
// mounts. It asks the same small parts of an engine, and shows nothing that the API does not tell.
// It may import the same packages as the other faces, and none of the faces.
package dashboard
