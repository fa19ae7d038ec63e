package binary

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"sync"
)

// sources are the files of this package, without tests and doc.go.
//
//go:embed additions.go code.go cost.go entries.go format.go fuel.go goblocks.go gofunctions.go hidden.go instructions.go leb128.go names.go nans.go ondemand.go parse.go ranges.go reader.go regions.go rewrite.go scan.go segments.go signature.go sizes.go tables.go template.go validate.go
var sources embed.FS

// Version names the version of Rewrite's and MakeTemplate's output: it changes with the code of
// this package, so that the cached output of another version is not taken for this one's.
var Version = sync.OnceValue(func() string {
	hash := sha256.New()
	names, err := fs.Glob(sources, "*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		content, err := fs.ReadFile(sources, name)
		if err != nil {
			panic(err) // it is in this program
		}
		hash.Write([]byte(name))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))
})
