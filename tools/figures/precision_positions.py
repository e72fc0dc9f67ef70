"""Score of two neighbours when their angles are computed in three floating-point formats."""

import torch

from snippets.rope import rope_inv_freq
from tools.figures.chart import Chart
from tools.figures.score_after_scaling import STARTS, band, draw_band
from tools.figures.svg import C1, C2, C3, INK, MUTED, SMALL, Drawing

HEAD_DIM, LAST = 128, 16_384
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def data() -> dict:
    """Exact score; by format the band of scores, and the first pair that cannot be told apart."""
    speeds = rope_inv_freq(HEAD_DIM)  # (P,)
    positions = torch.arange(LAST + 2)
    found = {"exact": torch.cos(speeds).mean().item()}
    for name, dtype in DTYPES.items():
        # Position, speed and product are all rounded; sines and cosines are not.
        angles = (positions.to(dtype)[:, None] * speeds.to(dtype)).double()  # (T, P)
        turned = angles[1:] - angles[:-1]  # (T - 1, P)
        same = (turned == 0).all(-1).nonzero().flatten().tolist()
        found[name] = band(torch.cos(turned).mean(-1), STARTS)
        found[name]["first_same"] = same[0] if same else None
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=342)
    chart = Chart(picture, (44, 78, 350, 290), (1, LAST), (0.2, 1.04), log_x=True)
    chart.y_axis((0.2, 0.4, 0.6, 0.8, 1))
    chart.x_axis((1, 16, 256, 2048, 16_384), "position (logarithmic)")
    picture.text(4, 12, "score of a query and the key before it")
    picture.text(4, 31, "bands: lowest to highest score", fill=MUTED, size=SMALL)
    draw_band(chart, d["bf16"], C2, "bf16")
    draw_band(chart, d["fp16"], C1, "fp16", "5 2")
    draw_band(chart, d["fp32"], C3, "fp32")
    chart.level(d["exact"], INK, dash="2 3")
    chart.text(1.2, d["exact"], f"fp32 and exact: {d['exact']:.3f}", dy=16, fill=C3, size=SMALL)
    for name, row, anchor, colour in (("fp16", 50, "middle", C1), ("bf16", 67, "end", C2)):
        first = d[name]["first_same"]
        x = chart.x(first)
        picture.line(x, row + 8, x, chart.y(1), colour)
        chart.dots([first], [1], colour, r=3)
        picture.text(x, row, f"{name}: {first} and {first + 1} merge", anchor=anchor, fill=colour,
                     size=SMALL)
    lowest = {name: min(score for _, score in d[name]["lowest"]) for name in DTYPES}
    words = " ".join(
        f"In {name} it is exactly 1 for positions {d[name]['first_same']} and "
        f"{d[name]['first_same'] + 1}, which get the same angles, and falls to "
        f"{lowest[name]:.3f} elsewhere." for name in ("bf16", "fp16")
    )
    fp32 = d["fp32"]["lowest"] + d["fp32"]["highest"]
    furthest = max(abs(score - d["exact"]) for _, score in fp32)
    return picture.finish(
        f"Score of equal all-ones unit vectors one position apart, head_dim {HEAD_DIM}, against "
        f"positions from 1 to {LAST} on a logarithmic axis, with angles computed in bf16, fp16 "
        f"and fp32. The exact score is {d['exact']:.4f} everywhere, and fp32 stays within "
        f"{furthest:.6f} of it. {words}"
    )
