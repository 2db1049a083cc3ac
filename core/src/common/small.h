// A small build, such as that for browsers, where every byte travels: no float32, no world, no tasks, nothing
// twice for speed.
#pragma once

namespace mocpack
{

#ifdef MOCPACK_SMALL
const bool SMALL = true;
#else
const bool SMALL = false;
#endif

} // namespace mocpack
