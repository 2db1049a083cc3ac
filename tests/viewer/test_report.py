"""The bench's report in a real browser: sentences, plots and missing data."""

import re

import pytest

from mocpack.bench.report.page import COLUMNS, write_report
from naming import names

SPEEDS = {
    "encode_fps": 12345.6,
    "decode_fps": 234567.8,
    "encode_peak_mb": 123.4,
    "decode_peak_mb": 45.6,
}


def row(codec, clip, millimeters, size, **others):
    scale = 0.0 if codec == "lossless" else millimeters
    return {
        "clip": clip,
        "codec": codec,
        "target": f"max_error={millimeters}mm",
        "failure": None,
        "frames": 200,
        "payload_bytes": size - 300,
        "file_bytes": size,
        "with_model_bytes": size,
        "index_bytes": 10,
        "model_bytes": 20,
        "skeleton_bytes": 250,
        "metadata_bytes": 40,
        "bits_per_frame": 8 * size / 200,
        "ratio_float32": 59000 / size,
        "max_error_mm": scale or 1.2e-13,
        "p99_mm": 0.8 * scale,
        "mean_mm": 0.3 * scale,
        "velocity_cm_s": 3.0 * scale,
        "foot_skate_cm_s": 12.345,
        "sk_ted": 0.012345,
        "e30": 17.28,
        "e30_source": 17.28,
        **SPEEDS,
    } | others


def failed(codec, clip, millimeters, why):
    gone = dict.fromkeys(COLUMNS)
    named = {"clip": clip, "codec": codec, "target": f"max_error={millimeters}mm"}
    return gone | named | {"failure": why}


@pytest.fixture(scope="module")
def rows():
    sizes = {"keysine": 2000, "fk-wavelet": 4000, "mpeg4-bap:lossless=true,intra=9": 9000}
    found = [
        row(codec, clip, bound, int(size / bound**0.6 * (1 + 0.1 * n)))
        for n, clip in enumerate(("49_02", "16_11_walk_with_a_long_name"))
        for codec, size in sizes.items()
        for bound in (1, 5, 20)
    ]
    found += [row("lossless", clip, 5, 19000) for clip in ("49_02", "16_11_walk_with_a_long_name")]
    found.append(failed("rd-pca", "49_02", 5, "out of time after 60 s"))
    found.append(failed("rd-pca", "49_02", 20, "out of time after 60 s"))
    return found


def opened(chromium, path, width=1280, **options):
    context = chromium.new_context(viewport={"width": width, "height": 800}, **options)
    page = context.new_page()
    page.goto(path.as_uri())
    return page


@pytest.fixture(scope="module")
def page(chromium, rows, tmp_path_factory):
    path = write_report(rows, tmp_path_factory.mktemp("report"), {"date": "x"}, anchor="keysine")
    page = opened(chromium, path)
    yield page
    page.context.close()


def test_the_first_sentences_name_the_smallest_codec_and_failures(page):
    said = page.locator(".verdict").inner_text()
    assert re.search(r"5 mm\W+keysine\W.*\b2 of 2\b", said)
    assert re.search(r"\b0\.50\b.*\bfk-wavelet\b", said)
    assert re.search(r"rd-pca\W+2 of 2\b", said)


def test_nothing_is_cut_off_at_1280(page):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    cut = page.evaluate(
        """[...document.querySelectorAll(".wide, section")]
            .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.innerText)"""
    )
    assert cut == []


@pytest.mark.parametrize("card", ["rd_max_error_mm", "rd_mean_mm", "size"])
def test_axes_have_plain_numbers(page, card):
    found = [text for text in page.locator(f"#{card} svg text").all_text_contents() if text]
    numbers = [text for text in found if re.fullmatch(r"[\d.,]+", text.strip())]
    assert len(numbers) >= 4
    assert not [text for text in found if re.search(r"10[\^⁰¹²³⁴-⁹]|\\times|×|e[-+]\d|\$", text)]


def test_an_exact_codec_does_not_stretch_the_axis_of_errors(page):
    found = page.locator("#rd_max_error_mm svg text").all_text_contents()
    assert any(names(text, "lossless:") for text in found)
    numbers = [float(t.replace(",", "")) for t in found if re.fullmatch(r"[\d.,]+", t.strip())]
    assert min(numbers) >= 0.1


@pytest.mark.parametrize("card", ["rd_max_error_mm", "size"])
def test_a_codec_that_failed_is_named_in_the_plots(page, card):
    found = " ".join(page.locator(f"#{card} svg text").all_text_contents())
    assert "rd-pca" in found
    assert "failed" in found


def test_plots_without_data_are_listed_with_a_reason(chromium, rows, tmp_path):
    bare = [dict(r) | {"target": None, "velocity_cm_s": None} for r in rows[:2]]
    path = write_report(bare, tmp_path, {"date": "x"}, anchor="fk-wavelet")
    page = opened(chromium, path)
    for card in ("size", "rd_velocity_cm_s", "bd"):
        assert page.locator(f"#{card}").count() == 0
    reasons = " ".join(page.locator(".note").all_inner_texts())
    assert names(reasons, "--target velocity BD-rate fk-wavelet")
    assert "keysine" not in page.locator(".verdict").inner_text()  # nobody is smallest
    page.context.close()


def test_a_bench_in_which_all_failed_says_so(chromium, rows, tmp_path):
    path = write_report([r for r in rows if r["failure"]], tmp_path, {"date": "x"})
    page = opened(chromium, path)
    assert names(page.locator(".verdict").inner_text(), "2")
    assert "failed" in page.locator(".note").inner_text()
    page.context.close()


def test_it_fits_a_phone_in_the_dark(chromium, rows, tmp_path):
    path = write_report(rows, tmp_path, {"date": "x"})
    page = opened(chromium, path, width=390, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()
