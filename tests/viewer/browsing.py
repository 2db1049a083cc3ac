"""Open the page in a browser, from a server that runs as long as the test."""

import contextlib
import threading
import time

from mocpack.viewing.server import open_server

BAD_FRAME = 87  # of struck.mocp
PATIENCE = 30.0  # seconds; a page needs one, this machine may have other things to do
LOADED = "(() => { const s = mocpack.state(); return s.windows > 0 && s.loaded === s.windows })()"


@contextlib.contextmanager
def serving(selection):
    server = open_server(selection, 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def open_context(browser, **options):
    """Open a context with a small window, which software draws faster."""
    small = {"viewport": {"width": 1100, "height": 720}, "device_scale_factor": 0.5}
    return browser.new_context(**{**small, **options})


@contextlib.contextmanager
def looking(browser, url, prepare=None, *, playing=False, **options):
    """Open the page and fail on any error in its console.

    Tabs without options share a context, whose process runs already. Each server has its own port,
    so each has its own storage. `prepare` gets the tab before the page opens. The page is paused
    unless it is to be `playing`, since drawing every frame takes most of the time.
    """
    context = open_context(browser, **options) if options else browser.shared_context
    tab = context.new_page()
    tab.set_default_timeout(1000 * PATIENCE)
    errors = []
    tab.on("console", lambda note: errors.append(note.text) if note.type == "error" else None)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.errors = errors
    if prepare is not None:
        prepare(tab)
    tab.goto(url)
    until(tab, "!!window.mocpack")
    tab.evaluate("window.mocpack.ready")
    if not playing:
        tab.evaluate("mocpack.state().playing && document.getElementById('play').click()")
    yield tab
    tab.close()
    if options:
        context.close()
    assert errors == []


def until(tab, expression):
    """Wait until an expression of the page is true.

    Playwright's own waiting needs `eval`, which the page's content security policy forbids.
    """
    end = time.monotonic() + PATIENCE
    while not tab.evaluate(expression):
        assert time.monotonic() < end, f"still not: {expression}"
        tab.wait_for_timeout(15)
