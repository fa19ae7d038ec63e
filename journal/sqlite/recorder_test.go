package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// recorder records SQLite's calls of the file system for the files of a folder.
//
// It lies below SQLite, as a VFS that hands everything on to the one for Unix. That one's file is
// used as it is; only its table of methods is replaced by a copy, in which the methods that change
// the disk are ours.
type recorder struct {
	mu  sync.Mutex
	log []diskOp // guarded by mu
}

// record has the files of a folder recorded, from now on.
func record(t testing.TB, dir string) *recorder {
	require.NoError(t, shim.register())
	r := &recorder{}
	shim.recorders.Store(dir, r)
	t.Cleanup(func() { shim.recorders.Delete(dir) })
	return r
}

func (r *recorder) add(op diskOp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, op)
}

// length is how much has been recorded by now.
func (r *recorder) length() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.log)
}

// shim is the VFS. SQLite knows it by an address, so there is one for the process; folders that are not recorded pass
// it by.
var shim vfsShim

type vfsShim struct {
	once      sync.Once
	err       error
	unix      uintptr  // the VFS below
	recorders sync.Map // of folders
	files     sync.Map // by the address of SQLite's file: shimFile

	mu      sync.Mutex
	methods map[uintptr]uintptr // copies of the tables of methods; guarded by mu
}

// shimFile is an open file that is recorded.
type shimFile struct {
	recorder *recorder
	name     string
	methods  uintptr // those of the VFS below
	// syncsFolder says that the first flush is also one of the folder: SQLite's VFS for Unix does so for logs and
	// journals that it may have made.
	syncsFolder *sync.Once
}

// at is the memory at an address that SQLite has given.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// address is a function's address for SQLite. It must be declared, not made.
func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f})) }

// function is the function at an address.
func function[F any](address uintptr) F {
	return *(*F)(unsafe.Pointer(&struct{ address uintptr }{address}))
}

func (v *vfsShim) register() error {
	v.once.Do(func() {
		tls := libc.NewTLS()
		v.methods = map[uintptr]uintptr{}
		v.unix = lib.Xsqlite3_vfs_find(tls, 0)
		name, err := libc.CString("recorded")
		if err != nil {
			v.err = err
			return
		}
		copied := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
		vfs := at[lib.Tsqlite3_vfs](copied)
		*vfs = *at[lib.Tsqlite3_vfs](v.unix)
		vfs.FpNext, vfs.FzName = 0, name
		vfs.FxOpen, vfs.FxDelete = address(shimOpen), address(shimDelete)
		if code := lib.Xsqlite3_vfs_register(tls, copied, 1); code != lib.SQLITE_OK {
			v.err = os.ErrInvalid
		}
	})
	return v.err
}

func (v *vfsShim) recorderOf(path string) *recorder {
	r, ok := v.recorders.Load(filepath.Dir(path))
	if !ok {
		return nil
	}
	return r.(*recorder)
}

// wrapped is a copy of a table of methods with ours in it.
func (v *vfsShim) wrapped(tls *libc.TLS, methods uintptr) uintptr {
	v.mu.Lock()
	defer v.mu.Unlock()
	if copied, ok := v.methods[methods]; ok {
		return copied
	}
	copied := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	table := at[lib.Tsqlite3_io_methods](copied)
	*table = *at[lib.Tsqlite3_io_methods](methods)
	table.FxClose, table.FxWrite, table.FxTruncate, table.FxSync = address(shimClose), address(shimWrite), address(
		shimTruncate,
	), address(shimSync)
	v.methods[methods] = copied
	return copied
}

func shimOpen(tls *libc.TLS, _, zName, file uintptr, flags int32, out uintptr) int32 {
	path := libc.GoString(zName)
	r := shim.recorderOf(path)
	_, err := os.Stat(path)
	code := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](
		at[lib.Tsqlite3_vfs](shim.unix).FxOpen,
	)(tls, shim.unix, zName, file, flags, out)
	if r == nil || code != lib.SQLITE_OK {
		return code
	}
	f := shimFile{
		recorder:    r,
		name:        filepath.Base(path),
		methods:     at[lib.Tsqlite3_file](file).FpMethods,
		syncsFolder: &sync.Once{},
	}
	if os.IsNotExist(err) {
		r.add(diskOp{kind: opCreate, name: f.name})
	}
	if flags&lib.SQLITE_OPEN_CREATE == 0 || flags&(lib.SQLITE_OPEN_WAL|lib.SQLITE_OPEN_MAIN_JOURNAL) == 0 {
		f.syncsFolder.Do(func() {})
	}
	shim.files.Store(file, f)
	at[lib.Tsqlite3_file](file).FpMethods = shim.wrapped(tls, f.methods)
	return code
}

func shimDelete(tls *libc.TLS, _, zName uintptr, syncFolder int32) int32 {
	code := function[func(*libc.TLS, uintptr, uintptr, int32) int32](at[lib.Tsqlite3_vfs](shim.unix).FxDelete)(
		tls, shim.unix, zName, syncFolder,
	)
	path := libc.GoString(zName)
	if r := shim.recorderOf(path); r != nil && code == lib.SQLITE_OK {
		r.add(diskOp{kind: opDelete, name: filepath.Base(path)})
		if syncFolder != 0 {
			r.add(diskOp{kind: opSyncFolder})
		}
	}
	return code
}

func opened(file uintptr) (shimFile, *lib.Tsqlite3_io_methods) {
	f, _ := shim.files.Load(file)
	opened := f.(shimFile)
	return opened, at[lib.Tsqlite3_io_methods](opened.methods)
}

func shimClose(tls *libc.TLS, file uintptr) int32 {
	f, methods := opened(file)
	shim.files.Delete(file)
	at[lib.Tsqlite3_file](file).FpMethods = f.methods
	return function[func(*libc.TLS, uintptr) int32](methods.FxClose)(tls, file)
}

func shimWrite(tls *libc.TLS, file, buffer uintptr, size int32, offset int64) int32 {
	f, methods := opened(file)
	f.recorder.add(diskOp{
		kind: opWrite, name: f.name, at: offset, data: bytes.Clone(unsafe.Slice(at[byte](buffer), size)),
	})
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](methods.FxWrite)(
		tls, file, buffer, size, offset,
	)
}

func shimTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	f, methods := opened(file)
	f.recorder.add(diskOp{kind: opTruncate, name: f.name, at: size})
	return function[func(*libc.TLS, uintptr, int64) int32](methods.FxTruncate)(tls, file, size)
}

func shimSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	f, methods := opened(file)
	code := function[func(*libc.TLS, uintptr, int32) int32](methods.FxSync)(tls, file, flags)
	if code == lib.SQLITE_OK {
		f.recorder.add(diskOp{kind: opSync, name: f.name})
		f.syncsFolder.Do(func() { f.recorder.add(diskOp{kind: opSyncFolder}) })
	}
	return code
}
