package journal

// MaxHibernated bounds the saved state of a guest, in bytes.
const MaxHibernated = 8 << 20

// Hibernated is the state of a guest as it was when it had seen the entries up to Seq.
// A guest that is made of it and is given the entries behind Seq is the one that a
// replay of the whole journal yields. It only saves time: a host that finds none, or
// one that it cannot use, replays.
type Hibernated struct {
	// Seq is the last entry that the guest had seen.
	Seq uint64
	// Body is the state. What it means is the host's business; no bytes stand for no
	// state.
	Body []byte
}
