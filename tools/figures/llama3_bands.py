"""The three bands of pairs that Llama 3 keeps, blends and divides, for two models."""

from snippets.llama3_rope import llama3
from snippets.rope import rope_inv_freq
from tools.figures.chart import Chart
from tools.figures.svg import C1, INK, MUTED, SMALL, Drawing

BASE = 500_000.0
MODELS = {"Llama 3.1": (128, 8), "Llama 3.2 1B": (64, 32)}  # head_dim and factor
TICKS = {"Llama 3.1": (1, 2, 4, 8), "Llama 3.2 1B": (1, 2, 4, 8, 16, 32)}


def data() -> dict:
    """For each model the slow-down by pair, the last pair kept and the first one divided."""
    found = {}
    for name, (head_dim, factor) in MODELS.items():
        plain = rope_inv_freq(head_dim, BASE)  # (P,)
        slower = (plain / llama3(head_dim, factor, base=BASE)[0]).tolist()
        found[name] = {
            "slower": slower,
            "last_kept": max(i for i, x in enumerate(slower) if x < 1 + 1e-9),
            "first_divided": min(i for i, x in enumerate(slower) if x > factor - 1e-9),
        }
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=462)
    picture.text(4, 12, "times slower than plain RoPE (logarithmic)")
    words = []
    for top, (name, (head_dim, factor)) in zip((52, 268), MODELS.items(), strict=True):
        panel(picture, top, name, factor, head_dim // 2 - 1, d[name])
        kept, divided = d[name]["last_kept"], d[name]["first_divided"]
        middle = d[name]["slower"][kept + 1 : divided]
        words.append(
            f"{name} with {head_dim // 2} pairs and factor {factor} keeps pairs 0 to {kept}, "
            f"blends pairs {kept + 1} to {divided - 1}, whose slow-downs rise from "
            f"{middle[0]:.2f} to {middle[-1]:.2f}, and slows pairs {divided} to "
            f"{head_dim // 2 - 1} by {factor}."
        )
    return picture.finish("Slow-down of each pair in two models. " + " ".join(words))


def panel(picture, top, name, factor, last, d) -> None:
    chart = Chart(picture, (32, top, 366, top + 142), (0, last), (0.8, 1.35 * factor), log_y=True)
    kept, divided = d["last_kept"], d["first_divided"]
    left, right = chart.x(kept + 0.5), chart.x(divided - 0.5)
    picture.rect(left, chart.top, right - left, chart.bottom - chart.top, fill=MUTED,
                 fill_opacity=0.15, data_band=f"{kept + 1}/{divided - 1}")
    chart.y_axis(TICKS[name])
    quarter = (last + 1) // 4
    chart.x_axis((0, quarter, 2 * quarter, 3 * quarter, last), "pair, from fast to slow")
    picture.text(4, top - 15, f"{name}, factor {factor}", fill=INK, weight="bold")
    chart.curve(range(last + 1), d["slower"], C1, name, width=1)
    chart.dots(range(last + 1), d["slower"], C1, r=2.4)
    chart.text(0, 1, f"0 to {kept} kept", dx=6, dy=-12, size=SMALL)
    picture.text(left - 6, chart.y(factor**0.5), f"{kept + 1} to {divided - 1} blended",
                 anchor="end", size=SMALL)
    chart.text(last, factor, f"{divided} to {last} divided", dy=14, anchor="end", size=SMALL)
