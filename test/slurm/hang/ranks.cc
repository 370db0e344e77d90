// SPDX-License-Identifier: Apache-2.0
// As C++: its functions have other symbols.
#include "ranks.h"
