package guest

// Register adds something to the module. It has one package as far as anyone can tell.
func Register(add func(*Registry)) (pkg string) {
	add(Default)
	return ""
}
