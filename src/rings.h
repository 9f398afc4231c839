// SPDX-License-Identifier: Apache-2.0
//
// The rings of src/, one namespace each. Code of a ring uses the names of the rings that it
// may include without a prefix; a name of an outer ring does not compile. The compiler reads
// this file before every other (cmake/TrancheTargets.cmake); tools/check_layers.py has the
// same table for includes.
#pragma once

namespace tranche {

namespace base {}
namespace os {
using namespace base;
}
namespace kube {
using namespace base;
using namespace os;
}  // namespace kube
namespace core {
using namespace base;
}
namespace formats {
using namespace base;
using namespace core;
}  // namespace formats
namespace node {
using namespace base;
using namespace os;
using namespace kube;
using namespace core;
using namespace formats;
}  // namespace node
namespace programs {
using namespace base;
using namespace os;
using namespace kube;
using namespace core;
using namespace formats;
using namespace node;
}  // namespace programs

// Not of the product: what stands in for hardware and the kubelet, and what uses it.
namespace testbed {
using namespace base;
using namespace os;
using namespace kube;
using namespace core;
using namespace formats;
using namespace node;
}  // namespace testbed
namespace tests {
using namespace base;
using namespace os;
using namespace kube;
using namespace core;
using namespace formats;
using namespace node;
using namespace testbed;
}  // namespace tests
namespace demo {
using namespace base;
using namespace os;
using namespace testbed;
}  // namespace demo
namespace bench {
using namespace base;
using namespace os;
using namespace testbed;
}  // namespace bench

}  // namespace tranche
