"""Properties are tried on the same examples everywhere: a failure here is a failure there."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "mocpack",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mocpack")
