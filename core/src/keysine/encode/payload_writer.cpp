// Writes the bytes of a payload: head, key segments, groups in layers.
#include "keysine/encode/payload_writer.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/head_writer.h"
#include "keysine/encode/written_payload.h"
#include "keysine/format/head.h"
#include "keysine/format/parts.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

namespace
{

bool shares_references(const Draft& draft)
{
	bool shares = false;
	for (size_t i = SHARES_REFERENCE; i < draft.table.size(); i += PLAN_COLUMNS)
		shares = shares || draft.table[i];
	return shares;
}

} // namespace

uint8_t error_statement(double unit, double error)
{
	const double number = std::ceil(8 * math::log2(std::max(error, unit) / unit));
	return uint8_t(std::min(std::max(number, 0.0), 255.0));
}

uint8_t layer_error_statement(double unit, double error)
{
	const double number = std::ceil(64 + 8 * math::log2(std::max(error, 1e-300) / unit));
	return uint8_t(std::min(std::max(number, 0.0), 255.0));
}

double max_layer_error(double unit)
{
	return unit * math::exp2((255 - 64) / 8.0);
}

bool write_payload(EncodeTask* task, const Draft& draft, const Bytes* parts, size_t given, uint8_t keys_error,
				   const LayerStatements& layers, Buffer<uint8_t>* payload)
{
	const size_t joints = task->skeleton.joint_count,
				 per_segment = size_t(task->constants.groups_per_segment);
	const bool streamed = draft.groups.group_frames != 0;
	const PartOrder order = {draft.groups.count, per_segment, draft.segment_count, layers.count, streamed};
	const size_t part_count = size_t(order.count());
	mocpack_KeysineFields fields = {(draft.is_grid ? GRID_MODE : 0) |
										(draft.groups.first_frame_alone ? FIRST_FRAME_MODE : 0) |
										(draft.is_grid && draft.is_thorough ? THOROUGH_MODE : 0) |
										(shares_references(draft) ? SHARED_MODE : 0),
									uint32_t(layers.count),
									draft.fine_bits,
									uint32_t(draft.groups.tempo),
									float(draft.unit),
									uint32_t(draft.groups.count),
									uint32_t(per_segment),
									uint32_t(draft.predictor_count),
									keys_error,
									{},
									uint32_t(draft.groups.group_frames)};
	if (layers.errors)
		std::copy(layers.errors, layers.errors + layers.count, fields.errors);
	Buffer<int32_t> table, predictors;
	Buffer<uint32_t> sizes;
	Buffer<Bytes> ordered; // in the order of the payload
	Buffer<uint8_t> shifts, grid_steps, scales, head;
	if (!task->copy(&table, draft.table.data(), draft.table.size()) ||
		!task->copy(&predictors, draft.predictors.data(), 4 * draft.predictor_count) ||
		!task->take(&sizes, part_count) || !task->take(&ordered, part_count) ||
		!task->take(&shifts, 4 * joints * layers.count) || !task->take(&grid_steps, 2 * joints) ||
		!task->take(&scales, 7 * joints))
		return false;
	size_t whole = 0;
	for (size_t i = 0; i < given; ++i)
	{
		const size_t group = i - draft.segment_count;
		const size_t at = !streamed					? i
						  : i < draft.segment_count ? order.segment(0, i)
													: order.group(0, group);
		ordered[at] = parts[i];
		sizes[at] = uint32_t(parts[i].size), whole += parts[i].size;
	}
	std::copy(layers.shifts, layers.shifts + 2 * (layers.count - 1) * layers.track_count, shifts.data());
	std::copy(draft.grid_steps.data(), draft.grid_steps.data() + draft.grid_steps.size(), grid_steps.data());
	std::copy(draft.initial_scales.data(), draft.initial_scales.data() + draft.initial_scales.size(),
			  scales.data());
	const mocpack_Status status =
		write_head(task->work.allocator,
				   {fields, &task->skeleton, table.data(), sizes.data(), part_count, predictors.data(),
					shifts.data(), draft.is_grid ? grid_steps.data() : nullptr, scales.data()},
				   &head);
	if (status != MOCPACK_OK)
		return task->stop(status);
	if (!task->take(payload, head.size() + whole))
		return false;
	uint8_t* at = std::copy(head.data(), head.data() + head.size(), payload->data());
	for (size_t i = 0; i < part_count; ++i)
		at = std::copy(ordered[i].data, ordered[i].data + ordered[i].size, at);
	return true;
}

bool write_draft(EncodeTask* task, const Draft& draft, Buffer<uint8_t>* payload)
{
	Buffer<uint8_t> start;
	const size_t segments = draft.segment_count, groups = draft.groups.count;
	if (!write_payload(task, draft, &draft.parts[0], segments, 0, ONE_LAYER, &start))
		return false;
	WrittenPayload keys;
	DecodedMotion lines;
	FrameErrors errors;
	if (!keys.open(task, start.data(), start.size()) || !keys.decode(task, 0, groups, 0, &lines) ||
		!measure_frames(task, lines, &errors))
		return false;
	const double* largest = errors.largest.data();
	const uint8_t error =
		error_statement(draft.unit, *std::max_element(largest, largest + errors.largest.size()));
	return write_payload(task, draft, &draft.parts[0], segments + groups, error, ONE_LAYER, payload);
}

} // namespace keysine
} // namespace mocpack
