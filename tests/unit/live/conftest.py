"""Sessions of streams are random numbers; in these tests they are the same in each run."""

import random

import pytest

from mocpack.live import hello


@pytest.fixture(autouse=True)
def _sessions_are_the_same_in_each_run(monkeypatch):
    monkeypatch.setattr(hello.secrets, "randbits", random.Random(1).getrandbits)
