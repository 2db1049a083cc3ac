// The 9/7 wavelet.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

	/* The 9/7 wavelet along the rows of values (rows, columns), in place (wavelet97.cpp).
	 *
	 * Rows come out coarsest first: the low-pass rows of the last level, then the high-pass rows of
	 * each level from last to first. scratch holds rows * columns doubles. */
	void mocpack_wavelet97(double* values, size_t rows, size_t columns, size_t levels, double* scratch);
	void mocpack_wavelet97_inverse(double* values, size_t rows, size_t columns, size_t levels,
								   double* scratch);

#ifdef __cplusplus
}
#endif
