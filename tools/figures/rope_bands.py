"""How many times slower a pair turns under five rules, against its wavelength."""

import math

from snippets.llama3_rope import llama3
from snippets.rope import rope_inv_freq
from snippets.rope_scaling import linear, ntk_aware
from snippets.yarn import ntk_by_parts, yarn
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, C3, C4, INK, MUTED, SMALL, Drawing

HEAD_DIM, BASE, TRAINED, FACTOR = 128, 10_000.0, 4096, 8
STYLES = {
    "linear": (MUTED, None),
    "ntk_aware": (C2, "2 3"),
    "ntk_by_parts": (C3, "8 3"),
    "yarn": (C1, None),
    "llama3": (C4, "5 2"),
}


def data() -> dict:
    """The wavelength of each pair, and its slow-down under each rule."""
    plain = rope_inv_freq(HEAD_DIM, BASE)  # (P,)
    rules = {
        "linear": linear(HEAD_DIM, FACTOR, BASE),
        "ntk_aware": ntk_aware(HEAD_DIM, FACTOR, BASE),
        "ntk_by_parts": ntk_by_parts(HEAD_DIM, FACTOR, TRAINED, base=BASE),
        "yarn": yarn(HEAD_DIM, FACTOR, TRAINED, base=BASE),
        "llama3": llama3(HEAD_DIM, FACTOR, TRAINED, base=BASE),
    }
    slower = {name: (plain / inv_freq).tolist() for name, (inv_freq, _) in rules.items()}
    return {"wavelengths": (2 * math.pi / plain).tolist(), "slower": slower}


def draw() -> str:
    d = data()
    waves, slower = d["wavelengths"], d["slower"]
    picture = Drawing(height=330)
    chart = Chart(picture, (32, 48, 368, 278), (6, 60_000), (0.7, FACTOR + 0.4), log_x=True)
    chart.y_axis((1, 2, 4, 6, 8))
    chart.x_axis((10, 100, 1000, 10_000), "wavelength in positions (logarithmic)")
    picture.text(4, 12, "times slower than plain RoPE")
    at = chart.x(TRAINED)
    picture.line(at, chart.top - 6, at, chart.bottom, INK, dash="2 3", width=1.25)
    picture.text(at, 34, f"trained length {TRAINED}", anchor="middle", size=SMALL)
    for name, (colour, dash) in STYLES.items():
        chart.curve(waves, slower[name], colour, name, dash)
    chart.text(7, 8, "linear", dy=14, fill=MUTED)
    chart.text(560, 5, "ntk_by_parts", dx=-4, anchor="end", fill=C3)
    chart.text(28, 2, "ntk_aware", dx=6, dy=-10, anchor="middle", fill=C2)
    for name, pair, y in (("yarn", 40, 2.9), ("llama3", 38, 1.6)):
        colour = STYLES[name][0]
        picture.line(chart.x(waves[pair]) + 3, chart.y(slower[name][pair]) + 1,
                     chart.x(5400), chart.y(y), colour)
        chart.text(5600, y, name, dx=2, fill=colour)
    slowed = sum(wave >= TRAINED for wave in waves)
    near = min(range(len(waves)), key=lambda i: abs(waves[i] - 1000))
    values = ", ".join(f"{name} {slower[name][near]:.2f}" for name in STYLES)
    return picture.finish(
        f"How many times slower each of {len(waves)} pairs turns for a factor of {FACTOR}, "
        f"against its wavelength on a logarithmic axis, at base {BASE:.0f} and trained length "
        f"{TRAINED}. Linear slows every pair by {slower['linear'][0]:.0f}, ntk_aware rises from "
        f"{slower['ntk_aware'][0]:.0f} for the shortest wave to {slower['ntk_aware'][-1]:.0f} for "
        f"the longest. The other three keep short waves and slow the {slowed} waves above the "
        f"trained length by {FACTOR}; between they differ. At wavelength "
        f"{waves[near]:.0f}: {values}."
    )
