package binary

type importEntry struct {
	module, name string
	kind         byte
	typeIndex    uint32 // of a function
}

type exportEntry struct {
	name  string
	kind  byte
	index uint32
}

type limits struct {
	min    uint32
	max    uint32
	hasMax bool
}

type table struct {
	elem byte
	limits
}

func (r *reader) functionType() Signature {
	if form := r.byte(); form != formFunction {
		r.fail("a type of form %#x is not a function type", form)
		return Signature{}
	}
	return Signature{Params: r.valueTypes(), Results: r.valueTypes()}
}

func (r *reader) valueTypes() string {
	types := r.bytes(r.u32())
	for _, t := range types {
		if !isValueType(t) {
			r.fail("unknown value type %#x", t)
			return ""
		}
	}
	return string(types)
}

func (r *reader) valueType() byte {
	t := r.byte()
	if r.err == nil && !isValueType(t) {
		r.fail("unknown value type %#x", t)
	}
	return t
}

func (r *reader) importEntry() importEntry {
	e := importEntry{module: r.name(), name: r.name(), kind: r.byte()}
	switch e.kind {
	case externFunction:
		e.typeIndex = r.u32()
	case externTable:
		r.valueType()
		r.limits()
	case externMemory:
		r.limits()
	case externGlobal:
		r.valueType()
		r.byte()
	default:
		r.fail("an import of unknown kind %d", e.kind)
	}
	return e
}

func (r *reader) limits() limits {
	switch flag := r.byte(); flag {
	case 0:
		return limits{min: r.u32()}
	case 1:
		return limits{min: r.u32(), max: r.u32(), hasMax: true}
	default:
		r.fail("limits of unknown form %#x", flag)
		return limits{}
	}
}

// elementSegment skips an element segment of at most this many entries and returns how many it has. The bits of its
// flags tell its form. Each function that it names, by the place of its number, is told to named, if there is one.
func (r *reader) elementSegment(most uint32, named func(at, end int, function uint32)) uint32 {
	const passive, indexed, expressions = 1, 2, 4
	flags := r.u32()
	if flags > 7 {
		r.fail("an element segment of unknown form %#x", flags)
		return 0
	}
	if flags&passive == 0 {
		if flags&indexed != 0 {
			r.u32()
		}
		r.expression(named)
	}
	if flags&(passive|indexed) != 0 {
		r.byte() // kind or type of the elements
	}
	count := r.u32()
	if count > most {
		r.fail("the element segments have more than %d entries", maxElements)
		return 0
	}
	for left := count; left > 0 && r.err == nil; left-- {
		if flags&expressions != 0 {
			r.expression(named)
			continue
		}
		at := r.pos
		function := r.u32()
		if named != nil {
			named(at, r.pos, function)
		}
	}
	return count
}

// dataSegment skips a data segment and returns how long it is.
func (r *reader) dataSegment() uint32 {
	switch form := r.u32(); form {
	case 0:
		r.expression(nil)
	case 1:
	case 2:
		r.u32()
		r.expression(nil)
	default:
		r.fail("a data segment of unknown form %#x", form)
		return 0
	}
	return uint32(len(r.bytes(r.u32())))
}
