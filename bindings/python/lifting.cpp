// Binding of the lifting wavelet, in place.
#include "arrays.h"

#include <memory>

#include "papers/beaudoin/lifting.h"

namespace
{

using Signals = MutableArray<double, nb::ndim<2>>;
using Lift = void (*)(double*, size_t, size_t, mocpack_LiftingUpdate, double*);

mocpack_LiftingUpdate update_of(int update)
{
	if (update < MOCPACK_UPDATE_NONE || update > MOCPACK_UPDATE_44)
		throw nb::value_error("update must be 0, 1 or 2");
	return mocpack_LiftingUpdate(update);
}

void lift(Signals& signals, int update, Lift kernel)
{
	mocpack_LiftingUpdate kind = update_of(update);
	nb::gil_scoped_release release;
	std::unique_ptr<double[]> scratch(new double[signals.shape(1) + 1]);
	kernel(signals.data(), signals.shape(0), signals.shape(1), kind, scratch.get());
}

} // namespace

void register_lifting(nb::module_& m)
{
	m.def(
		"lifting_forward", [](Signals signals, int update)
		{ lift(signals, update, &mocpack_lifting_forward); }, "signals"_a, "update"_a);
	m.def(
		"lifting_inverse", [](Signals signals, int update)
		{ lift(signals, update, &mocpack_lifting_inverse); }, "signals"_a, "update"_a);
}
