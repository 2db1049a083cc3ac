# libmocpack: its sources, and the files by which CMake (find_package(mocpack)) and pkg-config find it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# core/reader.txt lists the sources; the amalgamation uses it, too
file(STRINGS core/reader.txt library_sources REGEX "cpp$")
list(TRANSFORM library_sources PREPEND "core/src/")
if(NOT MSVC)
  # code that runs once per file is optimized for size; the last -O counts
  set(small_sources ${library_sources})
  list(FILTER small_sources EXCLUDE REGEX "curves|rows|decode\\.cpp|grid|least_squares|quaternions|pose|frames")
  set(plain_sources core/src/reader/frames.cpp core/src/keysine/decode/decode.cpp core/src/keysine/decode/grid.cpp)
  # vectorize loops over frames, without unrolling them
  set(vector_sources core/src/keysine/format/curves.cpp core/src/keysine/decode/rows.cpp)
  list(REMOVE_ITEM library_sources ${small_sources} ${plain_sources} ${vector_sources})
  # sources with the same options share a unit
  foreach(part small plain vector)
    add_library(mocpack_${part} OBJECT ${${part}_sources})
    list(APPEND parts mocpack_${part})
    list(APPEND library_sources $<TARGET_OBJECTS:mocpack_${part}>)
  endforeach()
endif()
# core/encoder.txt lists the sources of the encoder, as patterns. Programs that only read do not link them from a static
# library. Its sources are compiled one by one, because some have the same local names.
if(MOCPACK_ENCODER)
  file(STRINGS core/encoder.txt encoder_patterns REGEX "cpp$")
  list(TRANSFORM encoder_patterns PREPEND "core/src/")
  file(GLOB encoder_sources CONFIGURE_DEPENDS ${encoder_patterns})
  add_library(mocpack_encoder OBJECT ${encoder_sources})
  list(APPEND library_sources $<TARGET_OBJECTS:mocpack_encoder>)
  set(encoder_part mocpack_encoder)
endif()
add_library(mocpack ${library_sources})
add_library(mocpack::mocpack ALIAS mocpack)
foreach(target mocpack ${parts} ${encoder_part})
  mocpack_compile(${target})
  target_include_directories(${target} PRIVATE core/src)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/core/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                                             UNITY_BUILD ${MOCPACK_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  if(NOT MSVC)
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  endif()
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(${target} PUBLIC MOCPACK_SHARED PRIVATE MOCPACK_BUILDING)
  endif()
endforeach()
if(MOCPACK_ENCODER)
  set_target_properties(mocpack_encoder PROPERTIES UNITY_BUILD OFF)
endif()
set_target_properties(mocpack PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT MSVC)
  target_compile_options(mocpack_small PRIVATE -Os)
  target_compile_options(mocpack_plain PRIVATE -O2)
  target_compile_options(mocpack_vector PRIVATE -O2 -ftree-vectorize)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(mocpack_vector PRIVATE -fvect-cost-model=dynamic)
  endif()
  if(APPLE)
    target_link_options(mocpack PRIVATE -Wl,-dead_strip)
  else()
    target_link_options(mocpack PRIVATE -Wl,--gc-sections)
  endif()
endif()
# GCC loses the hidden visibility of function clones that are selected at load time
if(UNIX AND NOT APPLE AND BUILD_SHARED_LIBS)
  # let code and constants share a page: 8 kB less padding
  target_link_options(mocpack PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/core/mocpack.map
                                      -Wl,-z,noseparate-code)
endif()
# a C program that links the library needs no C++ runtime, only the math library
if(UNIX AND NOT APPLE)
  target_link_libraries(mocpack PRIVATE m)
endif()

if(MOCPACK_INSTALL)
  install(TARGETS mocpack EXPORT mocpackTargets)
  install(FILES core/include/mocpack/mocpack.h core/include/mocpack/mocpack.hpp
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mocpack)
  set(config ${CMAKE_CURRENT_BINARY_DIR}/mocpackConfig.cmake)
  file(WRITE ${config} "include(\"\${CMAKE_CURRENT_LIST_DIR}/mocpackTargets.cmake\")\n")
  # before 1.0 a minor version may change the interface
  write_basic_package_version_file(mocpackConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mocpack)
  install(FILES ${config} ${CMAKE_CURRENT_BINARY_DIR}/mocpackConfigVersion.cmake DESTINATION ${package_folder})
  install(EXPORT mocpackTargets NAMESPACE mocpack:: DESTINATION ${package_folder})
  set(pc_cflags "$<$<BOOL:${BUILD_SHARED_LIBS}>: -DMOCPACK_SHARED>")
  file(GENERATE OUTPUT mocpack.pc CONTENT "prefix=\${pcfiledir}/../..
Name: mocpack
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}${pc_cflags}
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lmocpack
Libs.private: -lm
")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mocpack.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
