// The skeleton of the kinematic functions, checked once at construction.
#pragma once
#include "arrays.h"
#include "common/skeleton.h"

using Indices = Array<int32_t, nb::ndim<1>>;
using Points = Array<double, nb::shape<-1, 3>>;
using Quats = Array<double, nb::shape<-1, 4>>;
using Flags = Array<uint8_t, nb::ndim<1>>;
using Limits = Array<double, nb::shape<-1, 2>>;

// Owns the arrays a mocpack_Skeleton points to.
struct Skeleton
{
	Indices parents;
	Points offsets;
	Indices end_joints;
	Points end_sites;
	Indices translated_joints;
	Quats rest;
	Indices hinge_joints;
	Flags hinge_slides;
	Points hinge_axes;
	Limits hinge_limits;
	mocpack_Skeleton view;

	Skeleton(Indices parents_, Points offsets_, Indices end_joints_, Points end_sites_,
			 Indices translated_joints_, Quats rest_, Indices hinge_joints_, Flags hinge_slides_,
			 Points hinge_axes_, Limits hinge_limits_)
		: parents(parents_), offsets(offsets_), end_joints(end_joints_), end_sites(end_sites_),
		  translated_joints(translated_joints_), rest(rest_), hinge_joints(hinge_joints_),
		  hinge_slides(hinge_slides_), hinge_axes(hinge_axes_), hinge_limits(hinge_limits_)
	{
		view = {parents.size(),	   parents.data(),		offsets.data(),			  end_joints.size(),
				end_joints.data(), end_sites.data(),	translated_joints.size(), translated_joints.data(),
				rest.data(),	   hinge_joints.size(), hinge_joints.data(),	  hinge_slides.data(),
				hinge_axes.data(), hinge_limits.data()};
		check();
		check_hinges();
	}

	// The kernels do not check these indices, so they are checked here.
	void check() const
	{
		int32_t joints = int32_t(parents.size());
		bool good = offsets.shape(0) == parents.size() && end_sites.shape(0) == end_joints.size();
		for (int32_t j = 0; j < joints; ++j)
			good = good && parents.data()[j] < j && parents.data()[j] >= (j ? 0 : -1);
		for (size_t e = 0; e < end_joints.size(); ++e)
			good = good && end_joints.data()[e] >= (e ? end_joints.data()[e - 1] : 0) &&
				   end_joints.data()[e] < joints;
		for (size_t m = 0; m < translated_joints.size(); ++m)
			good = good && translated_joints.data()[m] > (m ? translated_joints.data()[m - 1] : -1) &&
				   translated_joints.data()[m] < joints;
		if (!good)
			throw nb::value_error(
				"parents must precede children; end sites and translated joints must be sorted");
	}

	void check_hinges() const
	{
		size_t count = hinge_joints.size(), turns = 0, slides = 0;
		bool good = rest.shape(0) == parents.size() && hinge_slides.size() == count &&
					hinge_axes.shape(0) == count && hinge_limits.shape(0) == count;
		for (size_t h = 0; h < count && good; ++h)
		{
			int32_t before = h ? hinge_joints.data()[h - 1] : 0, joint = hinge_joints.data()[h];
			if (!h || joint != before)
				turns = slides = 0;
			good = joint >= before && size_t(joint) < parents.size() && !(hinge_slides.data()[h] && turns);
			++(hinge_slides.data()[h] ? slides : turns);
			good = good && slides <= 3 && turns <= 2;
		}
		if (!good)
			throw nb::value_error(
				"hinges must be sorted by joint, with at most three sliding ones before two turning ones");
	}

	void check_motion(const Rotations& rotations, const Translations& translations) const
	{
		if (rotations.shape(1) != view.joint_count || translations.shape(1) != view.translated_count ||
			rotations.shape(0) != translations.shape(0))
			throw nb::value_error("rotations (T, J, 4) and translations (T, M, 3) do not match the skeleton");
	}
};
