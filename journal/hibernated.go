package journal

// MaxHibernated bounds the saved state of a guest, in bytes.
const MaxHibernated = 8 << 20

// Hibernated is the state of a guest after the entries up to Seq. A guest that is made of it and is
// given the entries behind Seq equals the result of replaying the whole journal. It only saves
// time: a host that finds none, or an unusable one, replays.
type Hibernated struct {
	// Seq is the last entry that the guest had seen.
	Seq uint64
	// Body is the state. Its meaning is the host's business; no bytes stand for no state.
	Body []byte
}
