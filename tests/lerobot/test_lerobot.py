"""Archives exported as LeRobot datasets, read back by LeRobot itself: `make test-lerobot`."""

import numpy as np
import pytest
from lerobot.datasets.lerobot_dataset import LeRobotDataset

import mocpack
from mocpack.corpora import pack
from mocpack.corpora.exporting import export
from mocpack.errors import UsageError
from mocpack.testing import walk
from naming import naming
from robots import hinged_motion, hinged_skeleton


def packed(folder, **clips):
    files = {}
    for name, clip in clips.items():
        files[name] = folder / f"{name}.mocp"
        files[name].write_bytes(mocpack.encode(clip, max_error="1mm", effort="fast"))
    pack(files, folder / "all.mocps")
    return mocpack.open_corpus(folder / "all.mocps")


def test_an_episode_is_a_clip_and_a_state_is_its_frame(tmp_path):
    with packed(tmp_path, one=walk(0.5), two=walk(0.4, seed=2)) as corpus:
        assert export(corpus, tmp_path / "robot", "lerobot") == 2
        clips = [motion.clip() for motion in corpus]
    found = LeRobotDataset("local/mocpack", root=tmp_path / "robot")
    assert found.num_episodes == 2
    assert found.fps == round(clips[0].frame_rate)
    assert len(found) == sum(map(len, clips))
    at = 0
    for episode, clip in enumerate(clips):
        for frame in (0, len(clip) // 2, len(clip) - 1):
            row = found[at + frame]
            assert int(row["episode_index"]) == episode
            assert int(row["frame_index"]) == frame
            assert float(row["timestamp"]) == pytest.approx(frame / found.fps, abs=1e-4)
            state = row["observation.state"].numpy()
            expected = np.concatenate(
                [clip.translations[frame].ravel(), clip.rotations[frame].ravel()]
            )
            np.testing.assert_allclose(state, expected, atol=1e-6)
            assert row["task"] == corpus_name(episode)
        at += len(clip)


def corpus_name(episode):
    return ("one", "two")[episode]


def test_the_state_of_a_robot_is_its_root_and_its_angles(tmp_path):
    clip = hinged_motion(hinged_skeleton(1), 1)
    with packed(tmp_path, robot=clip) as corpus:
        kept = corpus["robot"].clip()
        export(corpus, tmp_path / "robot", "lerobot", fps=round(clip.frame_rate))
    found = LeRobotDataset("local/mocpack", root=tmp_path / "robot")
    place, turn = kept.source_root()
    for frame in (0, len(found) - 1):
        state = found[frame]["observation.state"].numpy()
        expected = np.concatenate([place[frame], turn[frame], kept.angles[frame]])
        np.testing.assert_allclose(state, expected, atol=1e-5)


def test_clips_of_different_rates_need_one(tmp_path):
    with packed(tmp_path, one=walk(0.5), two=walk(0.4, frame_rate=50)) as corpus:
        with pytest.raises(UsageError, match=naming("--fps")):
            export(corpus, tmp_path / "robot", "lerobot")
        assert export(corpus, tmp_path / "robot", "lerobot", fps=25) == 2
    found = LeRobotDataset("local/mocpack", root=tmp_path / "robot")
    assert found.fps == 25
    assert found.num_episodes == 2
