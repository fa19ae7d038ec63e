// Package quota is the room of what a tenant may use: quotas and fair shares. There is no code here
// yet.
//
// host/admission asks it, through an interface of its own, before anything is started. It may import
// abi, host/metric, and journal for what is counted durably.
package quota
