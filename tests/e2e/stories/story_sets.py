# SPDX-License-Identifier: Apache-2.0
"""Which stories `make test` runs. The others are run by `make e2e`, and by CI.

The core set has a budget: five minutes on two cores. A story that takes longer than ten
seconds is there only if nothing else shows what it shows.
"""
import pytest

# Marks a story, or a class of them, that is not in the core set.
extended = pytest.mark.extended
