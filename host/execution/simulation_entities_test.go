package execution

import (
	"math/rand/v2"
	"slices"

	"github.com/cruster/cruster/abi"
)

// askEntities has threads call entities and send them messages, and one of them lock some while it does all that it
// does.
func (l *life) askEntities(random *rand.Rand) {
	for _, thread := range l.code {
		for i := range thread {
			if random.IntN(3) == 0 {
				thread[i] = append(thread[i][:len(thread[i])-1], drawAsk(random))
			}
		}
	}
	if random.IntN(2) == 0 {
		n := random.IntN(len(l.code))
		lock := call{
			abi.OpLock,
			abi.MustMarshal(&abi.Lock{Entities: []string{[]string{"E/free", "E/free", "E/refused"}[random.IntN(3)]}}),
		}
		l.code[n] = slices.Concat(
			[]step{{lock}}, l.code[n], []step{{call{abi.OpUnlock, abi.MustMarshal(&abi.Unlock{})}}},
		)
	}
}

func drawAsk(random *rand.Rand) call {
	kind, operation := abi.OpEntityCall, []string{"add", "add", "refuse"}[random.IntN(3)]
	if random.IntN(3) == 0 {
		kind = abi.OpEntitySend
	}
	return call{kind, abi.MustMarshal(&abi.EntityMessage{Entity: "E/1", Operation: operation, Input: abi.Nil})}
}
