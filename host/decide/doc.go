// Package decide finds out whether a commit whose answer was lost took effect.
//
// The first try may have taken effect, may do so while others are made, or never. To look for its rows is not enough:
// they may come behind the look. To answer the caller with an error that says that nothing was written is not true, and
// to do something else instead may be done beside it. So the same write is committed again, with a witness in it that
// the store takes once only: the row of a start, the origin of a message, a receipt, a sequence number, a message that
// is taken out. One of these holds for each repeat:
//
//  1. It takes effect: then the first did not, and cannot any more, for its witness is there.
//  2. It is refused because of the witness. That is there by the first try, or by another write of the same
//     witness. The look of the caller finds out which, from the rows; both refuse each further try.
//  3. It is fenced: then so is the first, if it has not taken effect. The host ends; its successor reads the rows.
//  4. It is refused for another reason, or its answer is lost as well. That says nothing of the first try.
//
// Cases 1 to 3 are the answer to both tries, whose witness is the same. In case 4 the write is repeated, after a pause
// that grows, until the caller gives up or the host ends. A caller that gives up must have the rows looked for, as they
// may be there and no one else does it.
//
// It imports host/hoststate, host/timer and journal.
package decide
