package wasm

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary"
)

// A guest is given fuel in slices. When one is used up, the guest calls the host: that is where Go's scheduler and
// garbage collector get their turn, and where a guest is stopped. The largest slice takes some five microseconds of
// ordinary code. Code that waits for memory all the time takes a hundred times as long, so the slices follow the clock:
// they are halved as long as one takes too long.
const (
	largestSlice  = 100_000
	smallestSlice = 5_000
	longSlice     = 300 * time.Microsecond
)

// exportRefuel builds the module that rewritten guests call when their fuel is out. An upload may
// not import it.
func exportRefuel(b wazero.HostModuleBuilder) {
	b.NewFunctionBuilder().WithGoModuleFunction(
		api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			ctx.Value(instanceKey{}).(*Instance).refuel(ctx, mod, int32(uint32(stack[0])))
		}),
		[]api.ValueType{api.ValueTypeI32},
		nil,
	).Export(binary.FuelFunction)
}

// refuel gives a guest that has used up its fuel the next slice, or ends it. It is told where in its function a Go
// guest is: see [binary.PlaceOf].
//
// A guest is given no more than the limit, slice by slice. So it gets here with more than that at
// the first check behind the limit, and this is the same check whatever the slices were: a guest's
// allowance does not depend on the host.
func (i *Instance) refuel(ctx context.Context, mod api.Module, told int32) {
	mc := i.machine
	if mc.fuel == nil { // a start function that runs while the engine makes the instance
		mc.findFuel(mod)
	}
	i.module.runtime.stats.refuels.Add(1)
	if ctx.Err() != nil && !i.mayReport() {
		i.stoppedAt = binary.PlaceOf(told)
		panic(errStopped)
	}
	used := i.fuelGranted - int64(mc.fuel.Get())
	if i.fuelLimit > 0 && used > i.fuelLimit {
		i.stoppedAt = binary.PlaceOf(told)
		panic(fault(abi.CodeGuestTimeout, "the module has used up its fuel, %d units, and was stopped", i.world.Fuel))
	}
	now := i.module.runtime.cfg.Clock.Now()
	took := now.Sub(i.fuelFilled)
	if took > longSlice {
		i.fuelSlice = max(i.fuelSlice/2, smallestSlice)
	} else {
		i.fuelSlice = min(i.fuelSlice*2, largestSlice)
	}
	i.fuelFilled = now
	i.admitStack()
	if i.fuelSlice >= largestSlice {
		i.stopWatching()
	}
	if i.shareCores(ctx, took) {
		i.fuelFilled = i.module.runtime.cfg.Clock.Now()
	}
	i.fillTank(used)
}

// fillTank gives the guest a slice on top of its use in this turn.
func (i *Instance) fillTank(used int64) {
	slice := i.fuelSlice
	if i.fuelLimit > 0 {
		slice = min(slice, i.fuelLimit-used)
	}
	i.fuelGranted = used + slice
	i.machine.fuel.Set(uint64(slice))
}

// renewFuel has the limit of the call under way begin anew.
func (i *Instance) renewFuel() {
	if i.fuelLimit > 0 && i.machine.fuel != nil {
		i.fuelLimit = i.fuelGranted - int64(i.machine.fuel.Get()) + i.world.Fuel
	}
}

// startFuel begins to count for a call of the guest, which may use this much; zero is no limit.
func (i *Instance) startFuel(limit int64) {
	i.fuelGranted, i.fuelLimit, i.fuelSlice = 0, limit, smallestSlice
	i.fuelFilled = i.module.runtime.cfg.Clock.Now()
	i.stoppedAt = binary.Place{}
	if i.machine != nil && i.machine.fuel != nil {
		i.fillTank(0)
	}
}

// settleFuel adds the use of a turn.
func (i *Instance) settleFuel() {
	if i.machine != nil && i.machine.fuel != nil {
		i.fuelUsed.Add(i.fuelGranted - int64(i.machine.fuel.Get()))
	}
}

// FuelUsed returns the fuel used by the turns of this instance, also by trapped ones. It depends on
// the module, its image and the inputs of the turns, and on nothing else. Initialisation does not
// count.
func (i *Instance) FuelUsed() int64 { return i.fuelUsed.Load() }

// findFuel finds the global that counts fuel. A module without code has none.
func (mc *machine) findFuel(mod api.Module) {
	mc.fuel, _ = mod.ExportedGlobal(binary.FuelExport).(api.MutableGlobal)
}
