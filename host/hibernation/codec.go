package hibernation

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// maxPlain bounds a state before it is compressed. Guests that have written more are replayed.
const maxPlain = 32 << 20

// ErrTooLarge says that a state is larger than a store takes.
var ErrTooLarge = errors.New("hibernation: the state is too large")

// Codec makes bytes of states, and states of bytes. Its zero value is ready; the compressor, which takes some memory,
// is made when it is first needed.
type Codec struct {
	once    sync.Once
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	err     error
}

func (c *Codec) prepare() error {
	c.once.Do(func() {
		c.encoder, c.err = zstd.NewWriter(
			nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true),
		)
		if c.err == nil {
			c.decoder, c.err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPlain), zstd.WithDecoderConcurrency(1))
		}
	})
	return c.err
}

// Encode makes bytes of a state, compressed and with a checksum.
func (c *Codec) Encode(s *State) ([]byte, error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	plain, err := abi.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("hibernation: encode: %w", err)
	}
	if len(plain) > maxPlain {
		return nil, ErrTooLarge
	}
	packed := c.encoder.EncodeAll(plain, nil)
	if len(packed) > journal.MaxHibernated {
		return nil, ErrTooLarge
	}
	return packed, nil
}

// Decode reads the output of Encode. Bytes that were changed are an error.
func (c *Codec) Decode(packed []byte) (*State, error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	plain, err := c.decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("hibernation: decompress: %w", err)
	}
	s := &State{}
	if err := abi.Unmarshal(plain, s); err != nil {
		return nil, fmt.Errorf("hibernation: decode: %w", err)
	}
	if s.Guest == nil {
		return nil, errors.New("hibernation: a state without a guest")
	}
	return s, nil
}
