"""Properties are tried on the same examples everywhere: a failure here is a failure there.

With MOCPACK_FUZZ, so many new examples of each are tried instead: `make fuzz`, every night.
"""

import os

from hypothesis import HealthCheck, settings

FUZZ = int(os.environ.get("MOCPACK_FUZZ", "0"))

settings.register_profile(
    "mocpack",
    derandomize=not FUZZ,
    deadline=None,
    max_examples=FUZZ or 60,
    print_blob=bool(FUZZ),  # what makes the same example again
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mocpack")
