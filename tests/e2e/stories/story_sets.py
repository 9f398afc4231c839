# SPDX-License-Identifier: Apache-2.0
"""Which stories `make test` runs. The others are run by `make e2e`, and by CI.

The core set has a budget: five minutes on two cores. A story that takes longer than ten
seconds is there only if nothing else shows what it shows.
"""


def extended(what):
    """Marks a story, or a class of them, that is not in the core set."""
    what.is_extended = True
    return what


def is_extended(test):
    method = getattr(test, test._testMethodName)
    return getattr(method, "is_extended", False) or getattr(test, "is_extended", False)
