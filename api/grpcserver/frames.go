package grpcserver

import "encoding/binary"

// clientPreface precedes the first frame of an HTTP/2 client.
const clientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Of HTTP/2 (RFC 9113, sections 4.1 and 6).
const (
	frameHeader = 9

	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameContinuation = 0x9

	flagEndStream = 0x1
	flagPadded    = 0x8
)

// frame is the head of a frame.
type frame struct {
	length int
	kind   byte
	flags  byte
	stream uint32
}

// frames finds the frames in one direction of a connection, whatever the chunks it arrives in. It
// keeps only the head of the current frame.
type frames struct {
	skip    int // bytes that are of no frame, or of no interest
	head    [frameHeader]byte
	got     int // bytes of the head
	current frame
	left    int  // bytes of the frame that are to come
	padding int  // of them at the end
	padded  bool // the next byte is the length of the padding
	byCall  bool // a scan ends behind each piece of the headers of a call
}

// scan goes on with the next piece of a connection, and returns how much of it was scanned. Began is told of each
// frame, data of each piece of a message, which it may change in its place; an error of it ends the scan.
func (f *frames) scan(piece []byte, began func(frame), data func(stream uint32, piece []byte) error) (int, error) {
	p := piece
	for len(p) > 0 {
		switch {
		case f.skip > 0:
			n := min(f.skip, len(p))
			if f.skip, p = f.skip-n, p[n:]; f.endsHeaders() {
				return len(piece) - len(p), nil
			}
		case f.left == 0:
			n := copy(f.head[f.got:], p)
			f.got, p = f.got+n, p[n:]
			if f.got < frameHeader {
				break
			}
			if f.begin(began); f.endsHeaders() {
				return len(piece) - len(p), nil
			}
		case f.padded:
			f.padded, f.left = false, f.left-1
			f.padding = min(int(p[0]), f.left)
			p = p[1:]
			f.skipPadding()
		default:
			n := min(f.left-f.padding, len(p))
			if data != nil {
				if err := data(f.current.stream, p[:n]); err != nil {
					return len(piece) - len(p), err
				}
			}
			f.left, p = f.left-n, p[n:]
			f.skipPadding()
		}
	}
	return len(piece), nil
}

// begin takes the head of a frame. Only data is looked at.
func (f *frames) begin(began func(frame)) {
	f.got = 0
	f.current = frame{
		length: int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2]), kind: f.head[3], flags: f.head[4],
		stream: binary.BigEndian.Uint32(f.head[5:]) & (1<<31 - 1),
	}
	began(f.current)
	if f.current.kind != frameData {
		f.skip = f.current.length
		return
	}
	f.left, f.padding, f.padded = f.current.length, 0, f.current.flags&flagPadded != 0 && f.current.length > 0
}

// endsHeaders tells whether the scan is behind a piece of headers, and ends there.
func (f *frames) endsHeaders() bool {
	return f.byCall && f.skip == 0 && (f.current.kind == frameHeaders || f.current.kind == frameContinuation)
}

// skipPadding passes over the end of a frame.
func (f *frames) skipPadding() {
	if f.left == f.padding {
		f.skip, f.left, f.padding = f.padding, 0, 0
	}
}
