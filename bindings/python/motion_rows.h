// The layout of rows of a motion library that Python creates.
#pragma once
#include <cstring>

#include "arrays.h"
#include "features/motion_rows.h"

// Owns the arrays that a RowLayout points to, and checks them once.
struct RowLayout
{
	Array<int32_t, nb::ndim<1>> columns, kinds;
	Array<float, nb::ndim<1>> low, high;
	mocpack::RowLayout view;

	// columns: those of a window that a row begins with; more follow if there are more kinds.
	RowLayout(Array<int32_t, nb::ndim<1>> columns_, Array<int32_t, nb::ndim<1>> kinds_,
			  Array<float, nb::ndim<1>> low_, Array<float, nb::ndim<1>> high_)
		: columns(columns_), kinds(kinds_), low(low_), high(high_),
		  view{kinds.size(), kinds.data(), low.data(), high.data()}
	{
		bool good = kinds.size() >= 7 && columns.size() <= kinds.size() && low.size() == kinds.size() &&
					high.size() == kinds.size();
		for (size_t c = 0; good && c < kinds.size(); ++c)
			good = kinds.data()[c] >= 0 && kinds.data()[c] < mocpack::COLUMN_KINDS;
		for (size_t c = 0; good && c < columns.size(); ++c)
			good = columns.data()[c] >= 0;
		if (!good)
			throw nb::value_error("columns, kinds or limits of rows are out of range");
	}

	// Writes rows (count, width of the layout) of a window (count, width).
	void select(const float* window, size_t width, size_t count, float* rows) const
	{
		for (size_t t = 0; t < count; ++t, window += width, rows += view.width)
			for (size_t c = 0; c < columns.size(); ++c)
				rows[c] = window[columns.data()[c]];
	}

	// Stores rows as floats, or in 16 bits.
	mocpack::RowReport store(const float* rows, size_t count, void* out, bool are_halves) const
	{
		mocpack::RowReport report = {};
		if (are_halves)
			report = mocpack::round_rows(view, rows, count, static_cast<uint16_t*>(out));
		else if (rows != out)
			std::memcpy(out, rows, count * view.width * sizeof(float));
		report.is_beyond = mocpack::is_beyond_limits(view, rows, count);
		return report;
	}
};

// Where the rows of clips are stored: floats or 16 bits per word, and one report per clip.
struct RowStore
{
	MutableArray<uint8_t, nb::ndim<1>> words;
	bool are_halves;
	MutableArray<uint8_t, nb::ndim<2>> reports;

	RowStore(MutableArray<uint8_t, nb::ndim<1>> words_, bool are_halves_,
			 MutableArray<uint8_t, nb::ndim<2>> reports_)
		: words(words_), are_halves(are_halves_), reports(reports_)
	{
		if (reports.shape(1) != sizeof(mocpack::RowReport))
			throw nb::value_error("reports have the wrong size");
	}

	// Returns the first byte of `count` rows from word `first` on.
	uint8_t* at(const RowLayout& layout, size_t clip, size_t first, size_t count) const
	{
		const size_t size = are_halves ? sizeof(uint16_t) : sizeof(float), room = words.size() / size;
		if (clip >= reports.shape(0) || first > room || count > (room - first) / layout.view.width)
			throw nb::value_error("rows must have their place in the store");
		return words.data() + size * first;
	}

	void report(size_t clip, const mocpack::RowReport& found) const
	{
		std::memcpy(reports.data() + clip * sizeof found, &found, sizeof found);
	}

	// Stores the rows (count, width of the layout) of a clip from word `first` on.
	void write(const RowLayout& layout, size_t clip, size_t first, Array<float, nb::ndim<2>> rows) const
	{
		const size_t count = rows.shape(0);
		if (rows.shape(1) != layout.view.width || !count)
			throw nb::value_error("rows must be those of the layout");
		uint8_t* out = at(layout, clip, first, count);
		nb::gil_scoped_release release;
		report(clip, layout.store(rows.data(), count, out, are_halves));
	}
};
