package binary

// Functions counts the functions that the module defines.
func (m *Module) Functions() int { return len(m.functions) }
