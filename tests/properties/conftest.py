"""Settings of property tests: the same examples everywhere, so that failures can be repeated.

MOCPACK_FUZZ is the number of new examples to try instead (`make fuzz`).
"""

import os

from hypothesis import HealthCheck, settings

FUZZ = int(os.environ.get("MOCPACK_FUZZ", "0"))

settings.register_profile(
    "mocpack",
    derandomize=not FUZZ,
    deadline=None,
    max_examples=FUZZ or 60,
    print_blob=bool(FUZZ),  # to repeat an example
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mocpack")
