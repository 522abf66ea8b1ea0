/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* std::string and std::wstring: before C++20 the headers leave their functions to the C++ library (extern template). There, what races in a string has
 * no order: a string that two threads append to without a lock is a bug that people have. All is hidden, as everything here: so namespaces may not
 * say otherwise, but for what the C++ library has to give, which comes first. */
#include <memory>
#include <string_view>
#undef _GLIBCXX_VISIBILITY
#define _GLIBCXX_VISIBILITY(v)
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1 /* not for strings */
#include <string>

template class __attribute__((visibility("hidden"))) std::basic_string<char>;
template class __attribute__((visibility("hidden"))) std::basic_string<wchar_t>;
