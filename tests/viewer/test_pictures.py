"""Pictures and videos of the page, and errors for missing programs."""

import io
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from mocpack.errors import UsageError
from mocpack.viewing import page as built
from mocpack.viewing.browser import find_chromium
from mocpack.viewing.motions import select
from mocpack.viewing.pictures import take_picture, take_video, video_frames
from naming import naming

SIZE = (320, 400)


@pytest.fixture
def drawing():
    """Skip without a browser."""
    try:
        find_chromium()
    except UsageError:
        pytest.skip("Chromium is not installed")
    if not (built.FOLDER / built.INDEX).is_file():
        pytest.skip("the viewer's page is not built (make viewer; it needs node)")


@pytest.fixture
def selection(files):
    return select(str(files / "walk-20mm.mocp"), str(files / "walk.bvh"))


def picture(selection, **start):
    data = take_picture(selection, SIZE, start)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), np.float64)


def vivid(picture):
    """Which pixels have a color, as bones have and the ground has not."""
    return np.ptp(picture, axis=2) > 30


def test_a_picture_shows_the_asked_frame_in_the_asked_size_and_theme(drawing, selection):
    first = picture(selection)
    later = picture(selection, frame=60)
    assert first.shape == (400, 320, 3)
    # a figure with colored bones in the middle, and in another pose sixty frames on
    assert vivid(first)[90:270, 80:240].sum() > 500
    assert (vivid(first) ^ vivid(later))[90:270, 80:240].sum() > 200
    assert first.mean() > 200
    dark = picture(selection, theme="dark")
    assert dark.mean() < 70
    assert vivid(dark)[90:270, 80:240].sum() > 500


def test_a_video_has_the_length_of_the_clip(drawing, selection, tmp_path):
    if shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg is not installed")
    told = []
    take_video(
        selection,
        tmp_path / "walk.mp4",
        SIZE,
        {},
        rate=2.0,
        on_progress=lambda done, of: told.append((done, of)),
    )
    assert told == [(k, 5) for k in range(1, 6)]
    assert list(tmp_path.iterdir()) == [tmp_path / "walk.mp4"]
    words = ["-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames,width"]
    found = subprocess.run(
        ["ffprobe", *words, "-of", "csv=p=0", str(tmp_path / "walk.mp4")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "320,5"


def test_a_video_shows_the_frame_of_each_of_its_times(selection):
    # 2.5 s at 60 frames per second
    assert video_frames(selection, 30.0)[:4] == [0, 2, 4, 6]
    assert len(video_frames(selection, 30.0)) == 75
    assert video_frames(selection, 7.0)[-1] <= 149
    with pytest.raises(UsageError, match=naming("1 60 0")):
        video_frames(selection, 0)


def test_without_chromium_the_command_says_what_is_missing(selection, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("MOCPACK_CHROMIUM", raising=False)
    with pytest.raises(UsageError, match=naming("Chromium")):
        take_picture(selection, SIZE, {})
    with pytest.raises(UsageError, match=naming("ffmpeg")):
        take_video(selection, tmp_path / "x.mp4", SIZE, {})


def test_a_browser_that_is_named_and_missing_is_not_replaced_by_another(selection, monkeypatch):
    monkeypatch.setenv("MOCPACK_CHROMIUM", "no-such-browser")
    with pytest.raises(UsageError, match="no-such-browser"):
        take_picture(selection, SIZE, {})
