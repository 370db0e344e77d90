// SPDX-License-Identifier: Apache-2.0
// What sickbay-ranks needs to be linked without shared libraries (CMakeLists.txt, "statically").
#include <fmt/format-inl.h>

// libdw would load a library that fetches debugging symbols from servers, where the environment names some.
// Nothing is loaded into a program that root starts; what is not there is said as for any other file.
extern "C" void* dlopen(const char* /*name*/, int /*how*/) noexcept { return nullptr; }

// Debian has fmt as a shared library alone: its code, and of its templates those that its headers leave to
// it.
FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE
