package sqlite

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// The remains of a disk after a power cut.
//
// A disk log is the sequence of SQLite's calls to the file system. Writes to a file before its last
// flush are there after a power cut. Later writes may be there or not, each sector for itself: the
// kernel writes back at any time, and the disk in any order. A file may have grown before the write
// at its end has arrived. The names in the folder are flushed apart from the files.

type diskOpKind int

const (
	opCreate diskOpKind = iota
	opDelete
	opWrite
	opTruncate
	opSync
	opSyncFolder
)

type diskOp struct {
	kind diskOpKind
	name string
	at   int64 // where a write begins, or the size after truncating
	data []byte
}

// diskFile is a file at the moment of the power cut.
type diskFile struct {
	flushed []byte
	pending []diskOp
}

type disk struct {
	files   map[string]*diskFile // by the names as the process sees them
	flushed map[string]*diskFile // by the names in the folder that are on the disk
	changed []diskOp             // names that were made or deleted since
	made    []*diskFile          // by opCreate in changed
}

// replay is the disk after a log.
func replay(log []diskOp) *disk {
	d := &disk{files: map[string]*diskFile{}, flushed: map[string]*diskFile{}}
	for _, op := range log {
		switch f := d.files[op.name]; op.kind {
		case opCreate:
			d.files[op.name] = &diskFile{}
			d.changed, d.made = append(d.changed, op), append(d.made, d.files[op.name])
		case opDelete:
			delete(d.files, op.name)
			d.changed, d.made = append(d.changed, op), append(d.made, nil)
		case opWrite, opTruncate:
			f.pending = append(f.pending, op)
		case opSync:
			for _, p := range f.pending {
				f.flushed = p.apply(f.flushed)
			}
			f.pending = nil
		case opSyncFolder:
			d.flushed, d.changed, d.made = maps.Clone(d.files), nil, nil
		}
	}
	return d
}

func (op *diskOp) apply(content []byte) []byte {
	if op.kind == opTruncate {
		return resize(content, op.at)
	}
	content = resize(content, max(int64(len(content)), op.at+int64(len(op.data))))
	copy(content[op.at:], op.data)
	return content
}

func resize(content []byte, size int64) []byte {
	if size <= int64(len(content)) {
		return content[:size]
	}
	return append(content, make([]byte, size-int64(len(content)))...)
}

// cut returns the content of the folder after a power cut: one of the possible ones, drawn at
// random.
func (d *disk) cut(rng *rand.Rand) map[string][]byte {
	// Now and then nothing that was not flushed has arrived, or all of it.
	chance := []float64{0, 0.1, 0.5, 0.9, 1}[rng.IntN(5)]
	sector := []int64{512, 4096}[rng.IntN(2)]
	names := maps.Clone(d.flushed)
	for i, op := range d.changed {
		switch {
		case rng.Float64() >= chance:
		case op.kind == opCreate:
			names[op.name] = d.made[i]
		default:
			delete(names, op.name)
		}
	}
	image := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		image[name] = names[name].cut(rng, chance, sector)
	}
	return image
}

func (f *diskFile) cut(rng *rand.Rand, chance float64, sector int64) []byte {
	content := slices.Clone(f.flushed)
	for _, op := range f.pending {
		if op.kind == opTruncate {
			if rng.Float64() < chance {
				content = op.apply(content)
			}
			continue
		}
		for from := int64(0); from < int64(len(op.data)); {
			to := min(int64(len(op.data)), ((op.at+from)/sector+1)*sector-op.at)
			if rng.Float64() < chance {
				before := int64(len(content))
				piece := diskOp{kind: opWrite, at: op.at + from, data: op.data[from:to]}
				content = piece.apply(content)
				fillGap(rng, content, before, piece.at)
			}
			from = to
		}
	}
	return content
}

// fillGap puts something where a file has grown before the data arrived: zeros, or old content of
// the disk.
func fillGap(rng *rand.Rand, content []byte, from, to int64) {
	if rng.IntN(2) == 0 {
		return
	}
	for i := from; i < to; i++ {
		content[i] = byte(rng.Uint32())
	}
}
