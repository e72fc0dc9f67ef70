"""Dot product of two rows against their gap: no direction, and no steady fall."""

import torch

from snippets.sinusoidal import sinusoidal_inv_freq
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, SMALL, Drawing

D_MODEL, REACH = 512, 100


def data() -> dict:
    """The dot product by gap, divided by its value at gap 0, and the first gap where it rises."""
    gaps = torch.arange(-REACH, REACH + 1, dtype=torch.float64)
    speeds = sinusoidal_inv_freq(D_MODEL)  # (P,)
    # PE_p . PE_{p+k} = sum of cos(k * speed), whatever p is.
    dots = torch.cos(gaps[:, None] * speeds).mean(-1).tolist()
    ahead = dots[REACH:]
    first_rise = next(k for k in range(REACH) if ahead[k + 1] > ahead[k])
    return {"gaps": gaps.tolist(), "dots": dots, "first_rise": first_rise}


def draw() -> str:
    d = data()
    rise = d["first_rise"]
    picture = Drawing(height=412)
    whole = Chart(picture, (44, 36, 360, 178), (-REACH, REACH), (0.3, 1))
    whole.y_axis((0.4, 0.6, 0.8, 1))
    whole.x_axis((-100, -50, 0, 50, 100))
    whole.curve(d["gaps"], d["dots"], C1, "whole")
    picture.text(4, 12, "the same on both sides of gap 0")

    first, last = 36, 56
    near = range(REACH + first, REACH + last + 1)
    gaps, dots = [d["gaps"][i] for i in near], [d["dots"][i] for i in near]
    closer = Chart(picture, (52, 244, 360, 366), (first, last), (0.49, 0.55))
    closer.y_axis((0.5, 0.52, 0.54))
    closer.x_axis((36, 40, 44, 48, 52, 56))
    closer.curve(gaps, dots, C1, "closer", width=1.5)
    closer.dots(gaps, dots, C1)
    pair = [REACH + rise, REACH + rise + 1]
    closer.dots([d["gaps"][i] for i in pair], [d["dots"][i] for i in pair], C2, r=4)
    step = d["dots"][pair[1]] - d["dots"][pair[0]]
    closer.text(rise, d["dots"][pair[0]], f"{rise} to {rise + 1}: up by {step:.6f}",
                dx=-8, dy=-20, fill=INK, size=SMALL)
    picture.text(4, 220, "a closer look: not a steady fall")
    picture.text(206, 400, "gap between two positions", anchor="middle")
    return picture.finish(
        f"Dot product of two rows at d_model {D_MODEL}, divided by its value at gap 0, against "
        f"gaps from minus {REACH} to {REACH}. The curve is the same on both sides and falls from 1 "
        f"to {d['dots'][-1]:.2f}. A closer look shows waves on it: from gap {rise} to gap "
        f"{rise + 1} it rises for the first time."
    )
