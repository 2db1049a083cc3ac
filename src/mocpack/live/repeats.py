"""Which earlier frames each packet repeats, so that lost packets do not break the stream."""

from __future__ import annotations

import math

from mocpack.common.arguments import check_integer, check_number

MAX_UNREPAIRED = 0.001  # share of frames that may be lost with all of their copies
MAX_REPEATS = 15  # the packet format needs no offsets for up to 16 consecutive rows


def choose_repeats(
    loss: float, burst: int, patience: int, round_trip: int, room: int = MAX_REPEATS
) -> tuple[int, ...]:
    """Return the distances, in frames, of the earlier frames that each packet repeats.

    The number of copies follows from the loss. If packets are lost independently, a frame and its
    ``n`` copies are all lost in ``loss ** (n + 1)`` cases. The rule takes the smallest ``n`` for
    which that is at most `MAX_UNREPAIRED`. The last copy must also come after a run of `burst` lost
    packets. How long the receiver waits decides where the copies go:

    - If it waits for `n` retransmissions after a run, packets repeat nothing. The receiver requests
      the frames that it misses.
    - If it waits until the last copy, packets repeat `n` frames, spread evenly over a run.
    - Otherwise each packet repeats a whole run. A row can only be decoded after the row before it,
      so a gap stops the stream until it is filled. The first packet after a run fills it. The lost
      frames themselves come too late; the receiver extrapolates them.

    Where the bit rate leaves too little room to repeat a run, the copies are spread over it, and
    there are at most `room`.

    Parameters
    ----------
    loss : float
        Share of packets that were lost.
    burst : int
        Packets lost in a row.
    patience : int
        Frames for which the receiver waits for a missing one.
    round_trip : int
        Frames from sending a packet until a report of it can be answered.
    room : int
        Frames that the bit rate lets each packet repeat.

    Examples
    --------
    >>> [choose_repeats(loss, 1, patience=0, round_trip=3) for loss in (0.0, 0.005, 0.05)]
    [(), (1,), (1, 2)]
    >>> [choose_repeats(0.05, 5, patience, round_trip=3) for patience in (4, 5, 11)]
    [(1, 2, 3, 4, 5), (3, 5), ()]
    >>> [choose_repeats(0.05, 5, patience=0, round_trip=3, room=room) for room in (4, 1, 0)]
    [(3, 5), (5,), ()]
    """
    check_number("loss", loss, 0, 1)
    numbers = {"burst": burst, "patience": patience, "round_trip": round_trip, "room": room}
    for name, value in numbers.items():
        check_integer(name, value, 0)
    copies = next((n for n in range(room) if loss ** (n + 1) <= MAX_UNREPAIRED), room)
    if copies == 0 or patience >= burst + copies * round_trip:
        return ()
    reach = max(copies, burst)
    if patience < reach <= room:
        return tuple(range(1, reach + 1))
    return tuple(math.ceil(k * reach / copies) for k in range(1, copies + 1))
