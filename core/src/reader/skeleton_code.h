// Constants of the SKEL chunk that its reader and its writer share.
#pragma once
#include <cstdint>

namespace mocpack
{

// Deflate dictionary with joint names of common skeletons and their lengths. Part of the format: never change
// it.
const char SKELETON_DICTIONARY[] =
	"Thumb1Thumb2Thumb3Index1Index2Index3Middle1Middle2Middle3Ring1Ring2Ring3Pinky1Pinky2Pinky3lclavicle\x08"
	"lhumerus\7lradius\6lwrist\5lhand\x08"
	"lfingers\6lthumbrclavicle\x08"
	"rhumerus\7rradius\6rwrist\5rhand\x08"
	"rfingers\6rthumb\4root\x09"
	"lhipjoint\6lfemur\6ltibia\5lfoot\5ltoes\x09"
	"rhipjoint\6rfemur\6rtibia\5rfoot\5rtoes\x09"
	"lowerback\x09"
	"upperback\6thorax\x09"
	"lowerneck\x09"
	"upperneck\4head\x08"
	"UpperLeg\x08"
	"LowerLeg\x08"
	"UpperArm\x08"
	"LowerArm\5Chest\x08"
	"Shoulder\4Hand\4Foot\4Toes_L_R\4Hips\x09"
	"LHipJoint\x09"
	"LeftUpLeg\7LeftLeg\x08"
	"LeftFoot\x0b"
	"LeftToeBase\x09"
	"RHipJoint\x0a"
	"RightUpLeg\x08"
	"RightLeg\x09"
	"RightFoot\x0c"
	"RightToeBase\x09"
	"LowerBack\5Spine\6Spine1\6Spine2\4Neck\5Neck1\4Head\x0c"
	"LeftShoulder\7LeftArm\x0b"
	"LeftForeArm\x08"
	"LeftHand\x0e"
	"LeftFingerBase\x10"
	"LeftHandIndex1\6LThumb\x0d"
	"RightShoulder\x08"
	"RightArm\x0c"
	"RightForeArm\x09"
	"RightHand\x0f"
	"RightFingerBase\x11"
	"RightHandIndex1\6RThumb";

const double SKELETON_UNITS[] = {1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45}; // meters
const uint8_t OTHER_UNIT = 255;											   // its f64 follows
const uint8_t POINT_DIGITS = 9, AS_FLOATS = 255;

// How the frames of channels are stored.
enum AxesForm
{
	NO_AXES,
	QUATERNION_AXES,
	ANGLE_AXES
};

} // namespace mocpack
