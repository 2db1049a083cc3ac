"""What a printed figure and ours say together: same, better, worse, or different and why."""

from __future__ import annotations

WITHIN = 0.05  # of the printed figure, or half a unit of its last digit: the same


def verdict(
    ours: float | None,
    printed: float | str | None,
    *,
    less_is_better: bool | None = True,
    within: float = WITHIN,
    why: str = "",
) -> str:
    """Return the verdict on one figure.

    Parameters
    ----------
    ours : float or None
        None where it cannot be had; `why` says why.
    printed : float, str or None
        As the paper prints it: a text's last digit says how exactly. None: the paper has none.
    less_is_better : bool or None
        None where neither direction is better, such as of a count.
    why : str
        The reason to give where the two differ.

    >>> verdict(24.10, "24.1"), verdict(9.9, "11.8")
    ('same', 'better')
    >>> verdict(33.1, "13.4", why="another clip")
    'different: another clip'
    >>> verdict(33.1, "13.4")
    'worse'
    """
    reason = f": {why}" if why else ""
    if printed is None:
        return "not in the paper"
    if ours is None:
        return f"not made{reason}"
    paper = float(printed)
    if abs(ours - paper) <= max(within * abs(paper), _half_a_digit(printed)):
        return "same"
    if less_is_better is not None and (ours < paper) == less_is_better:
        return "better"
    if reason:
        return f"different{reason}"
    return "different" if less_is_better is None else "worse"


def _half_a_digit(printed: float | str) -> float:
    if not isinstance(printed, str):
        return 0.0
    digits = printed.partition(".")[2]
    return 0.5000001 * 10.0 ** -len(digits)
