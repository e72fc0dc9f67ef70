"""Score of all-ones vectors against the offset, for RoPE and for xPos."""

import torch

from snippets.rope import rope_inv_freq
from snippets.xpos import apply_xpos, xpos_scale
from tools.figures.chart import Chart
from tools.figures.score_after_scaling import band, draw_band
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

HEAD_DIM, REACH, STEP, MARKED = 64, 512, 16, 100


def data() -> dict:
    """Bands as (offset, score), and the scores at plus and minus MARKED; offset = m - n."""
    speeds = rope_inv_freq(HEAD_DIM)  # (P,)
    offsets = torch.arange(-REACH, REACH + 1)
    ones = torch.ones(1, 1, len(offsets), HEAD_DIM, dtype=torch.float64)
    found = {}
    for name, scale in (("rope", torch.ones_like(speeds)), ("xpos", xpos_scale(HEAD_DIM))):
        # The key stands at position 0, the query at each offset.
        queries = apply_xpos(ones, offsets, speeds, scale, keys=False)[0, 0]  # (T, D)
        key = apply_xpos(ones[:, :, :1], offsets.new_zeros(1), speeds, scale, keys=True)[0, 0, 0]
        scores = queries @ key / HEAD_DIM  # (T,)
        by_index = band(scores, list(range(0, len(offsets) - 1, STEP)))
        found[name] = {
            edge: [(at - REACH, score) for at, score in points] for edge, points in by_index.items()
        }
        found[name]["marked"] = [scores[REACH + at].item() for at in (-MARKED, MARKED)]
        found[name]["extreme"] = [
            side.max().item() for side in (scores[: REACH // 2], scores[-REACH // 2 :])
        ]  # in the outer quarters
    return found


def draw() -> str:
    d = data()
    picture = Drawing(height=318)
    chart = Chart(picture, (44, 54, 362, 264), (-REACH, REACH), (-0.2, 1))
    chart.y_axis((-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1))
    chart.x_axis((-512, -256, 0, 256, 512), "offset: query minus key")
    picture.text(4, 12, "score divided by the width of the head")
    picture.text(4, 31, f"bands: lowest to highest of {STEP} offsets", fill=MUTED, size=SMALL)
    chart.level(0, INK)
    draw_band(chart, d["rope"], C1, "rope", opacity=0.3)
    draw_band(chart, d["xpos"], C2, "xpos", "5 2")
    chart.text(-500, 0.9, "xPos, grows", fill=C2)
    chart.text(90, 0.9, "RoPE", fill=C1)
    chart.text(330, -0.1, "xPos, fades", anchor="middle", fill=C2)
    rope, xpos = d["rope"]["marked"], d["xpos"]["marked"]
    before, after = d["xpos"]["extreme"]
    wave = d["rope"]["extreme"][0]
    return picture.finish(
        f"Score of all-ones vectors divided by head_dim {HEAD_DIM}, against offsets of the query "
        f"from minus {REACH} to {REACH}. RoPE is the same on both sides, {rope[0]:.3f} at minus "
        f"{MARKED} and at {MARKED}. xPos is {xpos[1]:.3f} at {MARKED} and {xpos[0]:.3f} at minus "
        f"{MARKED}. Beyond {REACH // 2}, RoPE reaches {wave:.2f} on each side, and xPos "
        f"{before:.2f} where the key comes after the query and {after:.2f} where it comes before."
    )
