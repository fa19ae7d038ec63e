package journal

import "fmt"

// DamagedEntry says that an entry of a journal does not decode. It is an [ErrCorrupt].
type DamagedEntry struct {
	Seq   uint64
	Bytes []byte // as they are stored
	Cause error
}

// Error says where it is. The bytes may hold payloads, and are kept out of logs.
func (e *DamagedEntry) Error() string {
	return fmt.Sprintf("%v: entry %d, %d bytes: %v", ErrCorrupt, e.Seq, len(e.Bytes), e.Cause)
}

func (e *DamagedEntry) Unwrap() []error { return []error{ErrCorrupt, e.Cause} }
