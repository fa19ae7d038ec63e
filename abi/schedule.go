package abi

// ScheduleInfo is a schedule that a module declares: it is there while the module is deployed. It has one of Cron,
// Every and Always. Lengths are nanoseconds; 0 and an empty string are the defaults of any schedule.
type ScheduleInfo struct {
	// Always starts a run whenever the one before has ended.
	Always  bool   `msgpack:"always"`
	CatchUp int64  `msgpack:"catch_up"`
	Cron    string `msgpack:"cron"`
	Every   int64  `msgpack:"every"`
	// Input is the request, one msgpack value; nil if there is none.
	Input   []byte `msgpack:"input"`
	Jitter  int64  `msgpack:"jitter"`
	Name    string `msgpack:"name"`
	Overlap string `msgpack:"overlap"`
	// Workflow is one of the module.
	Workflow string `msgpack:"workflow"`
	// Zone is the IANA name of a time zone.
	Zone string `msgpack:"zone"`
}
