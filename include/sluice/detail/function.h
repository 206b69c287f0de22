// std::function. <functional> brings algorithms and hash tables with it, which are a fifth of what
// it takes to include this library.
#ifndef SLUICE_DETAIL_FUNCTION_H_
#define SLUICE_DETAIL_FUNCTION_H_

#if __has_include(<bits/std_function.h>)  // libstdc++ has it apart
#include <bits/std_function.h>
#else
#include <functional>
#endif

#endif  // SLUICE_DETAIL_FUNCTION_H_
