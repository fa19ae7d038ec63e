package cruster

// Group is a set of related activities: their names have the same prefix, and they share default options. A Go package
// can offer one for many workflows to use:
//
//	package payments
//
//	var group = cruster.NewGroup("Payments", cruster.Retries(5))
//
//	var Charge = cruster.NewGroupActivity(group, "Charge", charge) // "Payments.Charge"
type Group struct {
	name string
	opts []ActivityOption
}

// NewGroup makes a group whose activities have the given options.
func NewGroup(name string, opts ...ActivityOption) Group {
	return Group{name: name, opts: opts}
}

// NewGroupActivity registers an activity of a group, under the name "group.name". Its own options
// override the group's.
func NewGroupActivity[In, Out any](
	g Group, name string, fn func(*ActivityContext, In) (Out, error), opts ...ActivityOption,
) *Activity[In, Out] {
	all := append(append([]ActivityOption{}, g.opts...), opts...)
	return NewActivity(g.name+"."+name, fn, all...)
}
