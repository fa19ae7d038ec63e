package wasm

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cruster/cruster/abi"
	wasmbinary "github.com/cruster/cruster/host/wasm/binary"
)

// # Prepared modules
//
// The engine compiles something else than the upload: the host rewrites it, and takes it apart. For
// a module of Go that takes a quarter of a second, which is most of the time that a restarted host
// needs to load a module whose code is in the cache. So the result is kept beside the code, under
// the digest of the upload and of the sources that made it: a host of another version does not find
// it. As with the code, a file that is missing or broken is made again, and a process that can
// write to the folder could as well write code.

const (
	// preparedDir is the folder of the prepared modules in the cache.
	preparedDir = "prepared"
	// preparedSize is the size of an upload from which it is kept: below, it is made as quickly as it is read.
	preparedSize = 64 << 10
)

// preparation is the engine's input for an upload.
type preparation struct {
	// Content is the binary that is compiled.
	Content []byte `msgpack:"content"`
	// Template is what else there is to know of a binary that was taken apart; nil if it was not.
	Template *wasmbinary.Template `msgpack:"template"`
	// Hidden says why it was not taken apart.
	Hidden string `msgpack:"hidden"`

	file string // that it was read from; empty if it was made
}

// preparedForm changes with the form of the files.
const preparedForm = "1"

// prepare makes the engine's input of an upload, or finds it in the cache.
func (r *Runtime) prepare(digest string, upload *wasmbinary.Module, size int) (*preparation, error) {
	file := r.preparedFile(digest, size)
	if p := readPrepared(file); p != nil {
		return p, nil
	}
	rewritten, err := upload.Rewrite()
	if err != nil {
		return nil, err
	}
	p := &preparation{Content: rewritten}
	template, reason := upload.MakeTemplate(rewritten)
	if reason == nil {
		p.Content, p.Template = template.Content, template
	} else {
		p.Hidden = reason.Error()
	}
	return p, nil
}

// keepPrepared writes a preparation into the cache, if it is not from there. It is called once the
// engine has taken it: a refused one leaves nothing on the disk.
func (r *Runtime) keepPrepared(digest string, size int, p *preparation) {
	if p.file != "" {
		return
	}
	if err := writePrepared(r.preparedFile(digest, size), p); err != nil {
		r.cfg.Logger.Warn("the compilation cache could not be written to", "error", err)
	}
}

// preparedFile returns the path of an upload's preparation in the cache; empty if the cache does
// not keep it.
func (r *Runtime) preparedFile(digest string, size int) string {
	if r.cache == nil || size < preparedSize {
		return ""
	}
	sum := sha256.Sum256([]byte(preparedForm + " " + wasmbinary.Version() + " " + digest))
	return filepath.Join(r.cfg.CacheDir, preparedDir, hex.EncodeToString(sum[:]))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readPrepared reads a file of the cache; nil if there is none that is whole.
func readPrepared(file string) *preparation {
	if file == "" {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil || len(content) < crc32.Size {
		return nil
	}
	body, sum := content[:len(content)-crc32.Size], content[len(content)-crc32.Size:]
	p := &preparation{file: file}
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum) || abi.Unmarshal(body, p) != nil {
		return nil
	}
	if p.Template != nil {
		p.Template.Content = p.Content
	}
	return p
}

// writePrepared writes a file of the cache, which is there whole or not at all.
func writePrepared(file string, p *preparation) error {
	if file == "" {
		return nil
	}
	body, err := abi.Marshal(p)
	if err != nil {
		return err
	}
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(body, castagnoli))
	random := make([]byte, sha256.Size)
	rand.Read(random)
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// If the host dies here, it is trimmed as any other file that was not read for long.
	temporary := filepath.Join(dir, hex.EncodeToString(random))
	if err := writeFile(temporary, body, sum); err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(temporary)))
	}
	return os.Rename(temporary, file)
}

func writeFile(name string, parts ...[]byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	return errors.Join(err, f.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
