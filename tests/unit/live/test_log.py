"""The log of a relay for errors that any client can cause."""

from mocpack.live.log import LOGGER, REPEAT_AFTER_S, LoopErrorLog, OneLineLogger

ERROR = ValueError("a\nb\x1b[31m")


def test_an_error_is_logged_in_one_line_and_its_traceback_only_for_debugging(caplog):
    try:
        raise ERROR
    except ValueError:
        OneLineLogger(LOGGER, {}).error("a connection failed", exc_info=True)
    (record,) = caplog.records
    assert record.exc_info is None
    assert "\n" not in record.getMessage()
    assert "\x1b" not in record.getMessage()


def test_an_error_of_the_loop_is_logged_in_one_line_and_not_again_at_once(caplog):
    now = [0.0]
    log = LoopErrorLog(lambda: now[0])
    for _ in range(1000):
        log(None, {"message": "accept failed", "exception": ERROR})
    assert len(caplog.records) == 1
    assert "\n" not in caplog.records[0].getMessage()
    log(None, {"message": "something else"})
    now[0] += REPEAT_AFTER_S
    log(None, {"message": "something else"})
    assert len(caplog.records) == 3
