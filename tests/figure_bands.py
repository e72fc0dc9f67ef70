"""Reads a drawn band, from the lowest to the highest value in each step of its axis."""

import numpy as np

from tests.drawn import SVG, assert_curve, curves, elements, points


def assert_band(figure, name, edges, every, starts, first=0, log_x=False) -> None:
    """Both edges go through values of `every`, and no value lies outside them.

    The indices of `every` count from `first`. starts: where each step begins. edges: the
    (index, value) that the figure shows.
    """
    outline = []
    for edge, most in (("highest", np.max), ("lowest", np.min)):
        shown = [index for index, _ in edges[edge]]
        values = [every[index - first] for index in shown]
        assert_curve(figure, f"{name} {edge}", shown, values, log_x=log_x)
        stops = [*starts[1:], first + len(every)]
        for start, stop, index, value in zip(starts, stops, shown, values, strict=True):
            assert start <= index < stop
            # Equal up to the order in which float64 adds up a hundred cosines.
            assert abs(most(every[start - first : stop - first]) - value) < 1e-9
        drawn, _ = curves(figure)[f"{name} {edge}"]
        outline += drawn if edge == "highest" else drawn[::-1]
    polygons = [points(e) for e in elements(figure) if e.tag == f"{SVG}polygon"]
    assert outline in polygons


def log_steps(doublings: int) -> list[int]:
    """Four steps in each doubling, from 1 on."""
    return sorted({round(2 ** (i / 4)) for i in range(4 * doublings)})


def mean_cosines(angles) -> np.ndarray:
    """Scores of all-ones vectors, divided by the width; angles (n, P)."""
    return np.cos(np.asarray(angles)).mean(1)
