"""How many times slower each pair turns under the two rules for longer context."""

from snippets.rope import rope_inv_freq
from snippets.rope_scaling import linear, ntk_aware
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, SMALL, Drawing

HEAD_DIM, FACTOR = 128, 4


def data() -> dict:
    """Plain speed divided by the new one, by rule and pair."""
    plain = rope_inv_freq(HEAD_DIM)
    return {rule.__name__: (plain / rule(HEAD_DIM, FACTOR)[0]).tolist()
            for rule in (linear, ntk_aware)}


def draw() -> str:
    d = data()
    pairs = range(HEAD_DIM // 2)
    middle = pairs[len(pairs) // 2]
    picture = Drawing(height=282)
    chart = Chart(picture, (32, 34, 366, 230), (0, pairs[-1]), (0.5, 4.4))
    chart.y_axis((1, 2, 3, 4))
    chart.x_axis((0, 16, 32, 48, 63), "pair, from fast to slow")
    picture.text(4, 12, "times slower than plain RoPE")
    chart.curve(pairs, d["linear"], C1, "linear")
    chart.curve(pairs, d["ntk_aware"], C2, "ntk_aware", "6 3")
    chart.text(2, 4, "position interpolation", dy=17, fill=C1)
    chart.text(middle, d["ntk_aware"][middle], "NTK-aware base", dx=12, dy=16, fill=C2)
    ends = (0, pairs[-1])
    chart.dots(ends, [d["ntk_aware"][i] for i in ends], C2, r=4)
    chart.text(0, 1, "unchanged", dx=8, dy=13, fill=INK, size=SMALL)
    return picture.finish(
        f"How many times slower each of {len(pairs)} pairs turns at head_dim {HEAD_DIM} for a "
        f"factor of {FACTOR}. Position interpolation: {d['linear'][0]:.0f} for every pair. "
        f"NTK-aware base: {d['ntk_aware'][0]:.0f} for the first pair, "
        f"{d['ntk_aware'][middle]:.2f} for pair {middle}, {d['ntk_aware'][-1]:.0f} for the last."
    )
