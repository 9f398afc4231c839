// SPDX-License-Identifier: Apache-2.0
//
// A library with a name of its own and nothing in it.
extern "C" int tranche_named_library() { return 0; }
