// Cubic interpolating wavelet.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	typedef enum mocpack_LiftingUpdate
	{
		MOCPACK_UPDATE_NONE = 0, // interpolating only
		MOCPACK_UPDATE_42 = 1,	 // two vanishing moments of the dual
		MOCPACK_UPDATE_44 = 2,	 // four
	} mocpack_LiftingUpdate;

	/* The cubic interpolating wavelet by lifting, in place, on `count` signals of `length` samples
	 * (lifting.cpp).
	 *
	 * Coefficients are sorted from the widest basis function to the narrowest; the first is the coarse
	 * sample. scratch holds `length` doubles. Time is linear in count * length. */
	void mocpack_lifting_forward(double* signals, size_t count, size_t length, mocpack_LiftingUpdate kind,
								 double* scratch);
	void mocpack_lifting_inverse(double* signals, size_t count, size_t length, mocpack_LiftingUpdate kind,
								 double* scratch);

#ifdef __cplusplus
}
#endif
