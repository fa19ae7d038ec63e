package guestsql

// Fold has two names be equal if SQLite takes them for the same. SQLite folds the letters of ASCII only: the Kelvin
// sign is no k to it, as it is to strings.ToLower.
func Fold(name string) string {
	for i := range len(name) {
		if name[i] == lower(name[i]) {
			continue
		}
		folded := []byte(name)
		for ; i < len(folded); i++ {
			folded[i] = lower(folded[i])
		}
		return string(folded)
	}
	return name
}

// equalFold tells whether SQLite takes two names for the same.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
