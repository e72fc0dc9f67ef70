"""Slow-down by pair under the ramp of the YaRN paper and under that of its code."""

from snippets.rope import rope_inv_freq
from snippets.yarn import yarn, yarn_paper
from tools.figures.chart import Chart
from tools.figures.svg import C1, C2, INK, MUTED, SMALL, Drawing

HEAD_DIM, BASE, TRAINED, FACTOR = 128, 10_000.0, 4096, 32


def data() -> dict:
    """Slow-downs by ramp, where they differ, where the paper is slower, and the largest gap."""
    plain = rope_inv_freq(HEAD_DIM, BASE)  # (P,)
    paper, code = (
        plain / rule(HEAD_DIM, FACTOR, TRAINED, base=BASE)[0] for rule in (yarn_paper, yarn)
    )
    differ = [i for i, x in enumerate((paper - code).abs().tolist()) if x > 1e-9]
    return {
        "paper": paper.tolist(),
        "code": code.tolist(),
        "differ": (differ[0], differ[-1]),
        "slower": [i for i in differ if paper[i] > code[i]][0],
        "widest": (paper / code).argmax().item(),
    }


def draw() -> str:
    d = data()
    pairs = range(HEAD_DIM // 2)
    widest = d["widest"]
    ends = [d[name][widest] for name in ("paper", "code")]
    picture = Drawing(height=300)
    chart = Chart(picture, (36, 34, 366, 248), (0, pairs[-1]), (0.8, 40), log_y=True)
    chart.y_axis((1, 2, 4, 8, 16, 32))
    chart.x_axis((0, 16, 32, 48, 63), "pair, from fast to slow")
    picture.text(4, 12, "times slower than plain RoPE (logarithmic)")
    picture.line(chart.x(widest), chart.y(ends[0]), chart.x(widest), chart.y(ends[1]), INK)
    chart.curve(pairs, d["paper"], C2, "paper", "6 3")
    chart.curve(pairs, d["code"], C1, "code")
    chart.dots([widest] * 2, ends, INK, r=3.5)
    chart.text(30, 5.7, "paper", anchor="end", dx=-6, fill=C2)
    chart.text(48, 8, "code", dx=-14, dy=16, fill=C1)
    chart.text(widest, ends[0], f"pair {widest}: {ends[0]:.2f}", dx=-12, dy=-10, anchor="end",
               size=SMALL)
    chart.text(widest, ends[1], f"{ends[1]:.2f}", dx=8, dy=12, size=SMALL)
    first, last = d["differ"]
    chart.text(0, 1, f"same up to {first - 1}", dx=4, dy=-11, fill=MUTED, size=SMALL)
    return picture.finish(
        f"How many times slower each of {len(pairs)} pairs turns under YaRN with factor {FACTOR}, "
        f"base {BASE:.0f} and trained length {TRAINED}, on a logarithmic axis. The ramp of the "
        f"paper and the ramp of the released code agree up to pair {first - 1} and from pair "
        f"{last + 1}, where they reach {d['code'][-1]:.0f}; from pair {d['slower']} to "
        f"{last} the paper's is slower. They are furthest apart at pair {widest}: {ends[0]:.2f} in "
        f"the paper, {ends[1]:.2f} in the code."
    )
