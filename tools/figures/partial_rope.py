"""Speeds of the pairs when a quarter of a head turns, in two ways."""

from snippets.partial_rope import partial_inv_freq, proportional_inv_freq
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, MUTED, SMALL, Drawing

HEAD_DIM, SHARE, BASE = 256, 0.25, 1_000_000.0


def data() -> dict:
    """Radians per position, by way and pair; 0 is a pair that stands still."""
    return {
        "partial": partial_inv_freq(HEAD_DIM, SHARE, BASE).tolist(),
        "proportional": proportional_inv_freq(HEAD_DIM, SHARE, BASE).tolist(),
    }


def draw() -> str:
    d = data()
    partial, all_pairs = d["partial"], d["proportional"]
    turning = [speed for speed in all_pairs if speed]
    last, standing = len(all_pairs) - 1, len(all_pairs) - len(turning)
    picture = Drawing(height=346)
    chart = Chart(picture, (58, 34, 366, 234), (0, last), (1e-6, 1.6), log_y=True)
    chart.y_axis((0.0001, 0.01, 1))
    chart.x_axis((0, 31, 64, 96, 127))
    picture.text(4, 12, "radians per position (logarithmic)")
    chart.curve(range(len(partial)), partial, C1, "partial")
    chart.curve(range(len(turning)), turning, C2, "proportional", "6 3")
    chart.dots([len(partial) - 1], [partial[-1]], C1, r=3.5)
    chart.dots([len(turning) - 1], [turning[-1]], C2, r=3.5)
    chart.text(len(turning), turning[-1], f"proportional, to {turning[-1]:.3g}", dx=8, fill=C2)
    chart.text(len(partial), partial[-1], f"partial, to {partial[-1]:.7f}", dx=8, dy=-8, fill=C1)
    picture.text((chart.left + chart.right) / 2, 268, "pair", anchor="middle")

    # No place on a logarithmic axis: pairs without a turn have a strip of their own.
    picture.text(4, 292, "at rest", fill=MUTED, size=SMALL)
    for pair in range(len(turning), len(all_pairs)):
        picture.circle(chart.x(pair), 292, 1.3, fill=C2, data_standing=str(pair))
    picture.text(chart.x(len(turning)) - 2, 312, f"proportional: {standing} pairs of speed 0",
                 fill=C2, size=SMALL)
    rest = HEAD_DIM - 2 * len(partial)
    picture.text(chart.x(len(turning)) - 2, 331, f"partial: {rest} coordinates left out", fill=C1,
                 size=SMALL)
    return picture.finish(
        f"Speeds by pair on a logarithmic axis at head_dim {HEAD_DIM}, share {SHARE} and base "
        f"{BASE:.0f}. Partial rotation has {len(partial)} pairs, from {partial[0]:.0f} through "
        f"{partial[1]:.4f} down to {partial[-1]:.7f} radians per position, and leaves {rest} "
        f"coordinates out. Proportional rotation has {len(all_pairs)} pairs: {len(turning)} of "
        f"them turn, from {turning[0]:.0f} through {turning[1]:.4f} down to {turning[-1]:.4f}, "
        f"and {standing} stand still."
    )
