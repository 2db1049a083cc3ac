"""Commands as a user sees them: what they print, where they write, their exit codes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import run

import mocpack
from mocpack.bench import command as bench
from mocpack.bench.datasets import COMMITTED
from mocpack.common.units import format_size
from mocpack.container import pack, unpack
from mocpack.model.take_data import Track
from mocpack.samples import JUMP
from mocpack.testing import walk
from naming import names
from takes import take


@pytest.fixture
def folder(tmp_path):
    mocpack.write(walk(0.5), tmp_path / "walk.bvh")
    return tmp_path


def refused(result, named, code=2):
    text = result.stderr.decode()
    assert result.returncode == code, text
    assert "Traceback" not in text
    assert text.startswith("mocpack: ")
    assert len(text.splitlines()) == 1
    assert names(text, named)


def test_compress_writes_beside_the_input_and_prints_size_and_errors(folder):
    result = run("compress", "walk.bvh", "--codec", "raw", folder=folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "walk.mocp").exists()
    assert (folder / "walk.bvh").exists()
    assert b"walk.mocp" in result.stdout
    assert b"ratio" in result.stdout


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("compress", "walk.bvh", "-o", "small.bvh"), "small.bvh .mocp convert"),
        (("compress", "walk.bvh", "-o", "small.mocps"), "small.mocps .mocp corpus"),
        (("scene", "walk.bvh", "-o", "small.glb"), "small.glb .mocp"),
        (("tune", "keysine", "walk.bvh", "--size", "2kB", "-o", "small.npz"), "small.npz .mocp"),
        (("decompress", "walk.bvh", "-o", "b.bvh"), "walk.bvh .mocp convert"),
        (("compress", "walk.bvh", "--frames", "50:60"), "walk.bvh --frames 50:60 30"),
        (("compress", "walk.bvh", "--max-error", "0mm"), "max_error '0mm'"),
        (("compress", "walk.bvh", "--max-error", "-1mm"), "max_error '-1mm'"),
        (("compress", "walk.bvh", "--max-error", "1 meter"), "max_error m cm mm meter'"),
        (("compress", "walk.bvh", "--max-angle", "1"), "max_angle deg rad '1'"),
        (("compress", "walk.bvh", "--clip", "run"), "walk.bvh BVH --clip"),
        (("compress", "walk.bvh", "--effort", "max"), "mocpack: effort fast, default, best 'max'"),
    ],
    ids=" ".join,
)
def test_likely_mistakes_are_named_and_write_nothing(folder, words, named):
    refused(run(*words, folder=folder), named)
    assert [path.name for path in folder.iterdir()] == ["walk.bvh"]


def test_info_shows_no_parameter_that_only_the_encoder_knew(folder):
    words = ("walk.bvh", "--max-error", "9mm", "--effort", "fast")
    assert run("compress", *words, folder=folder).returncode == 0
    (found,) = json.loads(run("info", "walk.mocp", "--json", folder=folder).stdout)
    assert not {"max_error", "effort", "threads"} & set(found["params"])
    assert found["params"]["layers"] == 1
    assert b"max_error" not in run("info", "walk.mocp", folder=folder).stdout


def test_compare_names_both_files_and_the_motion_it_takes_of_several(folder):
    clip = walk(0.5)
    mocpack.write(clip, folder / "two.glb")
    mocpack.write(
        clip[:9].replace(metadata={"animation": "short"}),
        folder / "two.glb",
        into=folder / "two.glb",
    )
    first, short = mocpack.clip_names(folder / "two.glb")
    packed = run("compress", "two.glb", "--clip", short, folder=folder)
    assert packed.returncode == 0, packed.stderr
    result = run("compare", "two.glb", "two.mocp", folder=folder)
    assert result.returncode == 2
    assert names(result.stderr.decode(), f"two.glb two.mocp {first} {short} --clip 30 9")
    assert run("compare", "two.glb", "two.mocp", "--clip", short, folder=folder).returncode == 0


def test_compress_prints_its_target(folder):
    given = run("compress", "walk.bvh", "--max-error", "2mm", folder=folder)
    assert names(given.stdout.decode(), "max_error 2mm keysine")
    head = ("--joint-error", "Head=2mm")
    for options, named in [
        ((), "max_error 1 mm keysine"),
        (head, "max_error 1 mm Head 2mm keysine"),
        ((*head, "--preset", "edit"), "preset edit 500 µm Head 2mm keysine"),
    ]:
        made = run("compress", "walk.bvh", "-f", *options, "--json", folder=folder)
        (row,) = json.loads(made.stdout)
        assert names(row["target"], named)


def test_compress_prints_the_bound_that_a_scaled_rig_keeps(folder):
    clip = walk(0.5)
    scales = np.ones((len(clip.skeleton), 3))
    scales[0] = 0.6
    mocpack.write(clip.replace(skeleton=replace(clip.skeleton, scales=scales)), folder / "rig.glb")
    result = run("compress", "rig.glb", folder=folder)
    assert names(result.stdout.decode(), "max_error 1 mm keysine")
    with mocpack.open(folder / "rig.mocp") as packed:
        assert packed.errors.declared == pytest.approx(0.001)


def test_compress_warns_of_an_error_that_is_large_for_the_body(folder):
    warned = run("compress", "walk.bvh", "--max-error", "1m", "--json", folder=folder)
    assert names(json.loads(warned.stdout)[0]["warning"], "1 m unit")
    usual = run("compress", "walk.bvh", "--max-error", "1mm", "--json", "-f", folder=folder)
    assert json.loads(usual.stdout)[0]["warning"] is None
    giant = run("compress", "walk.bvh", "--unit", "100m", "-f", "--json", folder=folder)
    assert names(json.loads(giant.stdout)[0]["warning"], "unit 100m body")


def test_rounding_of_a_lossless_file_is_shown_as_no_error(folder):
    assert b"nm" not in run("compress", "walk.bvh", "--lossless", folder=folder).stdout
    table = run("compare", "walk.bvh", "walk.mocp", folder=folder).stdout.decode()
    assert "e-1" not in table


def test_metrics_of_papers_are_shown_with_their_paper_on_request(folder):
    run("compress", "walk.bvh", folder=folder)
    short = run("compare", "walk.bvh", "walk.mocp", folder=folder).stdout.decode()
    assert "eps_x" not in short
    long = run("compare", "walk.bvh", "walk.mocp", "--papers", folder=folder).stdout.decode()
    assert names(long, "eps_x_cm Beaudoin sk_ted Brunnett")


def test_scales_that_bvh_cannot_hold_are_baked_on_request(folder):
    mocpack.write(take(["scales"]), folder / "squash.glb")
    words = ["convert", "squash.glb", "squash.bvh"]
    refused(run(*words, folder=folder), "BVH scales --bake-scales")
    assert run(*words, "--bake-scales", folder=folder).returncode == 0
    run("convert", "squash.glb", "squash.mocp", folder=folder)
    again = ["decompress", "squash.mocp", "-o", "again.bvh"]
    refused(run(*again, folder=folder), "BVH scales --bake-scales")
    assert run(*again, "--bake-scales", folder=folder).returncode == 0


@pytest.mark.parametrize("codec", ["latent-spline", "wavelet-ik"])
def test_a_codec_without_a_target_runs_with_its_own_parameters(folder, codec):
    result = run("compress", "walk.bvh", "--codec", codec, folder=folder)
    assert result.returncode == 0, result.stderr
    assert names(result.stdout.decode(), codec)
    made = mocpack.encode(mocpack.read(folder / "walk.bvh"), codec)
    assert (folder / "walk.mocp").read_bytes() == made


def test_effort_applies_to_a_codec_with_parameters(folder):
    sizes = []
    for effort in ("fast", "default"):
        spec = ("--codec", "keysine:max_error=1mm", "--effort", effort)
        assert run("compress", "walk.bvh", *spec, "-f", folder=folder).returncode == 0
        sizes.append((folder / "walk.mocp").stat().st_size)
    assert sizes[1] < sizes[0]


def test_compress_prints_json(folder):
    result = run("compress", "walk.bvh", "--codec", "raw", "--json", folder=folder)
    (row,) = json.loads(result.stdout)
    assert row["bytes"] == (folder / "walk.mocp").stat().st_size
    assert row["max_error_mm"] < 1e-3
    assert row["frames"] == 30


def test_nothing_is_overwritten_without_force(folder):
    (folder / "walk.mocp").write_bytes(b"precious")
    refused(run("compress", "walk.bvh", folder=folder), "walk.mocp -f")
    assert (folder / "walk.mocp").read_bytes() == b"precious"
    assert run("compress", "walk.bvh", "--codec", "raw", "-f", folder=folder).returncode == 0


@pytest.mark.parametrize("extra", [(), ("--dry-run",), ("--resume",)])
def test_decompress_replaces_no_file_that_the_user_does_not_name(folder, extra):
    run("compress", "walk.bvh", "--codec", "raw", folder=folder)
    source = (folder / "walk.bvh").read_bytes()
    for words in (("walk.mocp",), ("walk.mocp", "-f"), (".", "-f")):
        done = run("decompress", *words, *extra, folder=folder)
        assert done.returncode == 2
        assert names((done.stdout + done.stderr).decode(), "walk.bvh -o -f")
        assert (folder / "walk.bvh").read_bytes() == source
    named = ("-o", "walk.bvh", "-f")
    assert run("decompress", "walk.mocp", *named, *extra, folder=folder).returncode == 0
    assert ((folder / "walk.bvh").read_bytes() == source) == (extra == ("--dry-run",))


def test_a_file_goes_through_pipes(folder):
    text = (folder / "walk.bvh").read_bytes()
    packed = run("compress", "-", "-o", "-", "--codec", "raw", stdin=text)
    assert packed.returncode == 0, packed.stderr
    back = run("decompress", "-", "-o", "-", stdin=packed.stdout)
    assert back.stdout.startswith(b"HIERARCHY")


def test_a_truncated_file_is_bad_input_and_not_an_interrupt(folder):
    run("compress", "walk.bvh", "--codec", "raw", folder=folder)
    packed = (folder / "walk.mocp").read_bytes()
    (folder / "cut.mocp").write_bytes(packed[:-9])
    for words in (("info", "cut.mocp"), ("compare", "walk.bvh", "cut.mocp")):
        refused(run(*words, folder=folder), "cut.mocp: chunk 'DATA' truncated")


def test_errors_name_a_file_once_and_only_by_its_own_name(folder):
    (folder / "empty.mocp").touch()
    refused(run("info", "empty.mocp", folder=folder), "empty.mocp")
    assert b"input" not in run("info", "empty.mocp", folder=folder).stderr
    done = run("compress", "-", "-o", "a.mocp", folder=folder, stdin=b"")
    refused(done, "mocpack: standard input: empty")
    assert b"-" not in done.stderr


def test_info_measures_the_same_duration_of_a_source_and_a_file(folder):
    assert run("compress", "walk.bvh", "--codec", "raw", folder=folder).returncode == 0
    (source,) = json.loads(run("info", "walk.bvh", "--json", folder=folder).stdout)
    (packed,) = json.loads(run("info", "walk.mocp", "--json", folder=folder).stdout)
    assert source["motions"][0]["seconds"] == pytest.approx(packed["frames"] / packed["frame_rate"])


def test_a_bad_file_among_many_is_reported_and_stops_no_other(folder):
    (folder / "bad.bvh").write_bytes(b"\x00\x01\x02 junk")
    mocpack.write(walk(0.3, seed=5), folder / "other.bvh")
    names = ("walk.bvh", "bad.bvh", "other.bvh")
    result = run("compress", *names, "-o", "out", "--codec", "raw", "-j", 2, folder=folder)
    refused(result, "bad.bvh")
    assert sorted(p.name for p in (folder / "out").glob("[!.]*")) == ["other.mocp", "walk.mocp"]


def test_decompress_gives_the_motion_back(folder):
    run("compress", "walk.bvh", "--codec", "raw", folder=folder)
    assert run("decompress", "walk.mocp", "-o", "back.bvh", folder=folder).returncode == 0
    found = run("compare", "walk.bvh", "back.bvh", "--json", folder=folder)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)[0]["max_error_mm"] < 1e-2


def test_info_json_has_the_promised_keys(folder):
    run("compress", "walk.bvh", "--codec", "raw", "--max-error", "1mm", folder=folder)
    (facts,) = json.loads(run("info", "walk.mocp", "--json", folder=folder).stdout)
    assert {
        "format_version",
        "codec",
        "bitstream_version",
        "params",
        "frames",
        "frame_rate",
        "joints",
        "unit",
        "bytes",
        "error_mm",
        "groups",
        "layers",
    } <= facts.keys()
    parts = {"file", "payload", "skeleton", "index", "model", "metadata"}
    besides = {"scales", "times", "validity", "tracks"}
    assert facts["bytes"].keys() == parts | besides
    assert not any(facts["bytes"][part] for part in besides)
    assert facts["error_mm"].keys() == {"declared", "max", "mean", "rms", "p99"}
    assert facts["error_mm"]["declared"] == pytest.approx(1.0)


def test_compare_exits_with_1_if_a_file_breaks_its_own_bound(folder):
    run("compress", "walk.bvh", "--codec", "raw", "--max-error", "1mm", folder=folder)
    other = mocpack.read(folder / "walk.bvh")
    moved = mocpack.Clip(other.header, other.rotations, other.translations + 0.01)
    mocpack.write(moved, folder / "moved.bvh")
    result = run("compare", "moved.bvh", "walk.mocp", folder=folder)
    refused(result, "walk.mocp declares 1 mm, but is 1", code=1)


def test_frames_drops_the_first_one(folder):
    run("compress", "walk.bvh", "--codec", "raw", "--frames", "1:", folder=folder)
    (facts,) = json.loads(run("info", "walk.mocp", "--json", folder=folder).stdout)
    assert facts["frames"] == 29


def test_an_unreachable_target_exits_with_1_and_writes_nothing(folder):
    result = run("compress", "walk.bvh", "--codec", "raw", "--ratio", "1000", folder=folder)
    refused(result, "walk.bvh raw B", code=1)
    assert not (folder / "walk.mocp").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["compress", "nowhere.bvh"], "nowhere.bvh"),
        (["compress", "walk.bvh", "--max-error", "3 apples"], "'3 apples' '1mm'"),
        (["compress", "walk.bvh", "--codec", "nope"], "'nope' keysine raw"),
        (["compress", "walk.bvh", "--codec", "keysin"], "'keysin' mean 'keysine'"),
        (["compress", "walk.bvh", "--codec", "raw:bits=3"], "raw 'bits'"),
        (["compress", "walk.bvh", "--codec", "keysine:efort=best"], "'efort' mean 'effort'"),
        (["compress", "walk.bvh", "--ratio", "3", "--size", "3kB"], "--ratio --size"),
        (["compress", "walk.bvh", "-o", "no/such/folder/w.mocp"], "no/such/folder"),
        (["compress", "walk.bvh", "--frames", "20:10"], "20:10 30"),
        (["compress", "walk.bvh", "--frames", "x"], "'x'"),
        (["decompress", "walk.bvh", "-o", "w.bvh"], "walk.bvh .mocp"),
        (["decompress", "walk.bvh", "-o", "walk.xyz"], "'.xyz' .bvh"),
        (["no-such-command"], "'no-such-command'"),
        (["bench", "--paper", "9"], "'9'"),
        (["bench"], "--codec"),
        (["bench", "--codec", "raw", "--anchor", "zfp"], "--anchor raw 'zfp'"),
        (["bench", "--codec", "raw", "--metric", "beauty"], "'beauty' max_error_mm"),
        (["bench", "--codec", "raw", "--time-limit", "nan"], "--time-limit nan"),
        (["bench", "--codec", "raw", "--time-limit", "-1"], "--time-limit -1"),
        (["bench", "--codec", "raw", "--frames", "x"], "'x'"),
        (["bench", "--codec", "raw", "--target", "x=3"], "max_error=1mm,5mm 'x=3'"),
        (["bench", "--codec", "raw", "--target", "max_error=1mm,5"], "max_error '5'"),
        (["bench", "--codec", "raw", "--target", "ratio=20,x"], "ratio 'x'"),
        (["bench", "--paper", "000", "--data", "walk.bvh"], "--data"),
    ],
)
def test_impossible_requests_are_clear_errors(folder, words, named):
    refused(run(*words, folder=folder), named)
    assert not (folder / "report").exists()


def test_a_paper_whose_clips_are_all_missing_is_an_error(folder):
    (folder / "clips").mkdir()
    result = run("bench", "--paper", "003", "--data", "clips", folder=folder)
    refused(result, "cmu/15_04.bvh mocap.cs.cmu.edu")
    assert result.stdout == b""


def test_a_variable_that_names_no_folder_is_an_error(folder, monkeypatch):
    monkeypatch.setenv("MOCPACK_DATA", str(folder / "nowhere"))
    refused(run("bench", "--paper", "003", folder=folder), "MOCPACK_DATA /nowhere")


def test_bench_measures_the_clips_of_the_repository_by_default(tmp_path, monkeypatch):
    class AskedError(Exception):
        pass

    def measured(clips, *_, **__):
        raise AskedError(clips)

    monkeypatch.delenv("MOCPACK_DATA", raising=False)
    monkeypatch.setattr(bench, "run_bench", measured)
    with pytest.raises(AskedError) as asked:
        bench.run(codec=["raw"], out=tmp_path / "report")
    (clips,) = asked.value.args
    assert len(clips) == 36
    assert all(path.is_relative_to(COMMITTED / "cmu") for path in clips)


def test_bench_measures_writes_a_report_and_names_what_failed(folder):
    words = ("--codec", "raw", "--target", "ratio=0.5,90", "--no-speed", "--data", "walk.bvh")
    result = run("bench", *words, folder=folder)
    assert result.returncode == 0, result.stderr
    assert names(result.stdout.decode(), "2 1 report/report.html walk raw ratio=90")
    made = {p.name for p in (folder / "report").iterdir()}
    assert {"report.html", "bench.csv", "bench.json", "size.svg", "size.png"} <= made


def test_a_truncated_file_is_reported_as_truncated(folder):
    run("compress", "walk.bvh", "--codec", "raw", folder=folder)
    whole = (folder / "walk.mocp").read_bytes()
    (folder / "cut.mocp").write_bytes(whole[: len(whole) // 2])
    refused(run("decompress", "cut.mocp", folder=folder), "cut.mocp: chunk 'DATA'")


def test_codecs_lists_every_codec():
    rows = json.loads(run("codecs", "--json").stdout)
    assert [row["codec"] for row in rows] == mocpack.codec_ids()
    assert all(row["about"] for row in rows)


def test_codecs_explains_every_parameter_of_every_codec():
    for row in json.loads(run("codecs", "--json").stdout):
        for name, param in row["params"].items():
            assert param["about"], (row["codec"], name)


def test_codecs_can_describe_one_codec():
    result = run("codecs", "keysine").stdout.decode()
    assert result.startswith("keysine  (default)  ")
    assert "    layers = 1  (int)\n        " in result
    assert "rd-pca" not in result


def test_demo_makes_files_and_a_picture(tmp_path):
    result = run("demo", "--out", tmp_path / "demo")
    assert result.returncode == 0, result.stderr
    made = {p.name for p in (tmp_path / "demo").iterdir()}
    assert {"raw.mocp", "jump.bvh", "decoded.bvh", "error.png"} <= made
    assert (tmp_path / "demo" / "error.png").read_bytes().startswith(b"\x89PNG")


def test_the_bundled_clip_is_where_the_package_says():
    assert Path(JUMP).exists()
    assert mocpack.read(JUMP).frame_count == 480


def test_info_shows_the_energy_of_each_bandwidth_and_the_time_to_decode(folder):
    run("compress", "walk.bvh", "--codec", "bap-index", folder=folder)
    words = ["info", "walk.mocp", "--energy", "--bandwidth", "128kbps,4Mbps"]
    result = run(*words, folder=folder)
    assert result.returncode == 0, result.stderr
    assert b"ns per frame" in result.stdout
    assert result.stdout.count(b" mJ") == 1 + 2 * 2  # decoding; card and whole, by bandwidth


def test_energy_in_paper_units_is_equation_11(folder):
    run("compress", "walk.bvh", "--codec", "mpeg4-bap", folder=folder)
    words = ["info", "walk.mocp", "--energy", "--bandwidth", "128kbps", "--paper-units", "--json"]
    (fact,) = json.loads(run(*words, folder=folder).stdout)
    receiving = 8 * (folder / "walk.mocp").stat().st_size / (128 * 1024)
    expected = 1425 * receiving + 177 * (30 / 33 - receiving)
    assert fact["frames"] == 30
    assert fact["energy"]["reception"][0]["energy_mj"] == pytest.approx(expected)


def test_energy_counts_decoding_by_the_power_of_a_core(folder):
    run("compress", "walk.bvh", "--codec", "raw", "-o", "walk.mocp", "-f", folder=folder)
    words = ["info", "walk.mocp", "--energy", "--json", "--decode-power"]
    (fact,) = json.loads(run(*words, "500", folder=folder).stdout)
    assert fact["energy"]["decode_mj"] == pytest.approx(0.5 * fact["energy"]["decode_ms"])
    refused(run(*words, "-1", folder=folder), "--decode-power -1")


def test_energy_rejects_bad_bandwidths_and_other_files(folder):
    run("compress", "walk.bvh", "--codec", "raw", folder=folder)
    run("scene", "walk.mocp", "b=walk.mocp", "-o", "scene.mocp", folder=folder)
    words = ["info", "walk.mocp", "--energy", "--bandwidth", "fast"]
    refused(run(*words, folder=folder), "bandwidth 'fast'")
    refused(run("info", "walk.bvh", "--energy", folder=folder), "walk.bvh --energy .mocp")
    refused(run("info", "scene.mocp", "--energy", folder=folder), "scene.mocp --energy 2 clips")


def test_an_energy_option_without_energy_is_rejected(folder):
    refused(run("info", "walk.mocp", "--sleep-power", "3", folder=folder), "--sleep-power --energy")


@pytest.mark.parametrize("words", [("decompress",), ("convert", "walk.mocp", "back.npz")])
def test_a_file_that_needs_too_much_memory_is_rejected(folder, words):
    run("compress", folder / "walk.bvh", "--max-error", "5mm")
    words = words if len(words) > 1 else (*words, "walk.mocp", "-o", "back.npz")
    refused(run(*words, "--memory-limit", "10kB", folder=folder), "30 frames × 21 joints")
    assert not (folder / "back.npz").exists()
    for limit in ("2GB", "none"):
        assert run(*words, "--memory-limit", limit, "-f", folder=folder).returncode == 0


def test_info_shows_parameters_that_this_version_does_not_know(folder):
    data = mocpack.encode(walk(0.2), "raw")
    known = unpack(data)
    (folder / "new.mocp").write_bytes(pack(replace(known, params={"zeal": 11})))
    (found,) = json.loads(run("info", folder / "new.mocp", "--json").stdout)
    assert found["params"] == {"zeal": 11}
    assert b"zeal=11" in run("info", folder / "new.mocp").stdout


@pytest.fixture
def scene(folder):
    mocpack.write_scene({"anna": walk(0.3), "ben": take(["space"])}, folder / "two.mocp")
    return folder


def test_info_lists_the_clips_of_a_scene(scene):
    text = run("info", "two.mocp", folder=scene).stdout.decode()
    assert names(text, "anna ben 2.500")
    (found,) = json.loads(run("info", "two.mocp", "--json", folder=scene).stdout)
    assert [(c["name"], c["frames"]) for c in found["clips"]] == [("anna", 18), ("ben", 12)]
    (one,) = json.loads(run("info", "two.mocp", "--clip", "ben", "--json", folder=scene).stdout)
    assert (one["start_time"], one["loop"], one["up"]) == (2.5, True, "z")


def test_decompress_takes_one_clip_of_a_scene(scene):
    result = run("decompress", "two.mocp", "--clip", "anna", "-o", "anna.bvh", folder=scene)
    assert result.returncode == 0, result.stderr
    assert mocpack.read(scene / "anna.bvh").frame_count == 18
    refused(run("decompress", "two.mocp", folder=scene), "two.mocp anna ben")
    refused(run("info", "two.mocp", "--clip", "carl", folder=scene), "two.mocp anna ben 'carl'")


def test_info_shows_the_take_data(folder):
    (folder / "take.mocp").write_bytes(mocpack.encode(take(), "raw"))
    text = run("info", "take.mocp", folder=folder).stdout.decode()
    assert names(text, "z left-handed 'smile'")
    (facts,) = json.loads(run("info", "take.mocp", "--json", folder=folder).stdout)
    assert facts["roots"] == 2
    assert facts["rest_rotations"]
    assert facts["constant_scales"] == 3
    assert facts["moving_scales"] == 2
    assert facts["gaps"] > 0
    smile = facts["tracks"][0]
    assert (smile["name"], smile["kind"], smile["bound"]) == ("smile", "scalar", 0.002)
    assert facts["bytes"]["tracks"] > sum(track["bytes"] for track in facts["tracks"])


def test_edit_moves_a_joint_to_its_target_and_prints_what_moved(folder):
    packed = folder / "walk.mocp"
    packed.write_bytes(mocpack.encode(mocpack.read(folder / "walk.bvh"), "latent-spline"))
    words = ("--at", 0.25, "--joint", "LeftHand", "--position", "0.4,1.3,0.3", "--json")
    done = run("edit", packed, *words, "-o", folder / "edited.mocp")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)[0]
    assert said["handles"][0]["off"] < 1e-3
    clip = mocpack.decode((folder / "edited.mocp").read_bytes())
    hand = clip.positions()[round(0.25 * clip.frame_rate), clip.skeleton.index("LeftHand")]
    assert hand == pytest.approx([0.4, 1.3, 0.3], abs=1e-3)


def test_edit_prints_the_bound_of_the_new_file_and_the_tracks_that_it_keeps(folder):
    grounded = Track("flag", np.ones(60, bool))
    source = walk(1.0).replace(tracks={"left contact": grounded})
    (folder / "tracks.mocp").write_bytes(mocpack.encode(source))
    words = ("--at", 0.25, "--joint", "LeftHand", "--by", "0,0.1,0")
    done = run("edit", folder / "tracks.mocp", *words, "-o", folder / "edited.mocp")
    assert done.returncode == 0, done.stderr
    assert names(done.stdout.decode(), "tracks left contact size within 1 mm")


def test_edit_finds_and_prints_joints_without_a_name(folder):
    source = walk(1.0)
    nameless = replace(source.skeleton, names=("",) * len(source.skeleton))
    mocpack.write(source.replace(skeleton=nameless), folder / "nameless.npz")
    words = ("--at", 0.25, "--joint", "joint7", "--by", "0,0.02,0")
    done = run("edit", folder / "nameless.npz", *words, "-o", folder / "edited.mocp")
    assert done.returncode == 0, done.stderr
    moved = done.stdout.decode().splitlines()[1]
    assert names(moved, "joint7")
    missed = run("edit", folder / "nameless.npz", *words[:3], "Hips", *words[4:], "-o", "a.mocp")
    assert names(missed.stderr.decode(), "'Hips' joint7")


def test_edit_reads_and_writes_other_formats(folder):
    words = ("--at", 0.1, "--joint", "Hips", "--by", "0,0.1,0")
    done = run("edit", folder / "walk.bvh", *words, "-o", folder / "edited.bvh")
    assert done.returncode == 0, done.stderr
    assert names(done.stdout.decode(), "Hips 0.1 s")
    assert mocpack.read(folder / "edited.bvh").frame_count == 30
    size = (folder / "edited.bvh").stat().st_size
    assert format_size(size) in done.stdout.decode()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--at", 0.1, "--joint", "Hips"), "--position --by --turn"),
        (("--at", 9, "--joint", "Hips", "--by", "0,0,0"), "time 9.0"),
        (("--at", 0.1, "--joint", "Tail", "--by", "0,0,0"), "'Tail' Hips"),
        (("--at", 0.1, "--joint", "Hips", "--by", "up"), "'up'"),
    ],
)
def test_edit_rejects_bad_options(folder, words, named):
    done = run("edit", folder / "walk.bvh", *words, "-o", folder / "edited.bvh")
    assert done.returncode == 2
    assert names(done.stderr.decode(), named)
    assert not (folder / "edited.bvh").exists()


def test_info_shows_what_a_truncated_file_still_contains(folder):
    packed = folder / "walk.mocp"
    data = mocpack.encode(mocpack.read(folder / "walk.bvh"), "fk-wavelet:step=0.0005")
    packed.write_bytes(data[: 2 * len(data) // 3])
    done = run("info", packed, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)[0]
    cut = found["cut"]
    assert cut["missing_bytes"] == len(data) - 2 * len(data) // 3
    assert cut["is_playable"]
    assert 0 < cut["whole_layers"] < len(found["layers"])
    back = mocpack.decode(packed.read_bytes(), partial=True)
    moved = np.linalg.norm(back.positions() - walk(0.5).positions(), axis=-1).max()
    assert 1000 * moved <= cut["error_mm"]
    words = run("info", packed).stdout.split()
    assert b"truncated" in words
    packed.write_bytes(data)
    assert json.loads(run("info", packed, "--json").stdout)[0]["cut"] is None


def test_info_says_that_a_file_cut_in_its_first_layer_cannot_be_played(folder):
    packed = folder / "cut.mocp"
    packed.write_bytes(mocpack.encode(walk(0.5), max_error="1mm")[:-9])
    done = run("info", packed, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)[0]
    assert found["cut"]["missing_bytes"] == 9
    assert not found["cut"]["is_playable"]
    assert found["groups"] == 0
    assert b"groups" not in run("info", packed).stdout.split()


def test_the_error_of_a_truncated_file_names_partial_where_it_decodes_something(folder):
    whole = mocpack.encode(mocpack.read(folder / "walk.bvh"), "fk-wavelet:step=0.0005")
    cut = folder / "cut.mocp"
    words = ("decompress", "cut.mocp", "-o", "cut.bvh")
    cut.write_bytes(whole[: 2 * len(whole) // 3])
    refused(run(*words, folder=folder), "cut.mocp --partial")
    assert not (folder / "cut.bvh").exists()
    assert run(*words, "--partial", folder=folder).returncode == 0
    for useless in (whole[:100], mocpack.encode(walk(0.2), "raw")[:-9]):
        cut.write_bytes(useless)
        for given in ((), ("--partial",)):
            broken = run(*words, "-f", *given, folder=folder)
            assert broken.returncode == 2
            assert b"--partial" not in broken.stderr
