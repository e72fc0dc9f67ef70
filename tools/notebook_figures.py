"""Show a matplotlib figure in a notebook as SVG that follows the page: its colours, font, light
and dark. Its text alternative is read off the drawn lines, so that the two cannot part.

    figure, axes = plt.subplots()
    axes.plot(x, y, color=BLUE, label="RoPE")
    show(figure, "What there is to see.")
"""

import io
import re
from html import escape
from itertools import count
from xml.etree import ElementTree

import matplotlib.pyplot as plt
from IPython.display import HTML, display

# As the light page has them; on the page each becomes the variable of its name.
INK, MUTED, GRID = "#21262b", "#5f666d", "#dedad0"
BLUE, ORANGE, GREEN, VIOLET, BROWN = "#0065a3", "#bd4a00", "#007a58", "#a3467a", "#866400"
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid"}
VARIABLES |= {BLUE: "1", ORANGE: "2", GREEN: "3", VIOLET: "4", BROWN: "5"}

# Inches, as matplotlib wants them. 380 points are about 290 px on a narrow phone: 14 points are
# then 11 px.
WIDE = 380 / 72
STYLE = {
    "figure.figsize": (WIDE, 3.3), "font.size": 14,
    "xtick.labelsize": 13, "ytick.labelsize": 13,
    "figure.facecolor": "none", "axes.facecolor": "none",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": MUTED,
    "text.color": INK, "axes.labelcolor": INK, "xtick.color": MUTED, "ytick.color": MUTED,
    "svg.fonttype": "none", "svg.hashsalt": "figure",
}  # fmt: skip
plt.rcParams.update(STYLE)

SVG = "http://www.w3.org/2000/svg"
UNUSED = (f"{{{SVG}}}metadata", f"{{{SVG}}}style")
ElementTree.register_namespace("", SVG)
numbers = count(1)  # ids must differ between the figures of a page


def show(figure, caption: str, alternative: str | None = None) -> None:
    """Display the figure over its caption, and close it.

    alternative: what the picture says to those who do not see it; read off the lines that carry
    a label if left out. Raises ValueError if there is neither.
    """
    words = alternative or described(figure)
    if not words:
        raise ValueError("alternative must be given where no line has a label, got none")
    figure.tight_layout()
    picture = themed(figure, words, f"figure-{next(numbers)}")
    plt.close(figure)
    below = f"<figcaption>{escape(caption, quote=False)}</figcaption>"
    display(HTML(f"<figure>{picture}{below}</figure>"))


def described(figure) -> str:
    """Each labelled line at the ticks of its axis: "RoPE: 1.05 at 64, 1.07 at 96"."""
    panels = []
    for axes in figure.axes:
        lines = [line for line in axes.lines if not line.get_label().startswith("_")]
        if lines:
            head = f"{axes.get_ylabel()} against {axes.get_xlabel()}"
            panels.append(". ".join([head, *(_values(line, axes.get_xticks()) for line in lines)]))
    return ". ".join(panels) + "." if panels else ""


def _values(line, ticks) -> str:
    xs, ys = (list(map(float, values)) for values in line.get_data())
    near = sorted({min(range(len(xs)), key=lambda i: abs(xs[i] - tick)) for tick in ticks})
    return f"{line.get_label()}: " + ", ".join(f"{ys[i]:.2f} at {xs[i]:g}" for i in near)


def themed(figure, words: str, name: str) -> str:
    """The figure as one <svg>: no font, no style sheet, and ids only where something refers to
    them, each beginning with `name`."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None})
    text = file.getvalue().replace("xlink:href", "href")
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var(--fig-{variable})")
    text = re.sub(r"font-family: [^;\"]*; ", "", text)
    used = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", text))
    root = ElementTree.fromstring(re.sub(r"(url\(|href=\")#", rf"\g<1>#{name}-", text))
    for parent in root.iter():
        for child in [c for c in parent if c.tag in UNUSED]:
            parent.remove(child)
        number = parent.attrib.pop("id", None)
        if number in used:
            parent.set("id", f"{name}-{number}")
    box = root.get("viewBox")
    root.attrib.clear()
    root.attrib |= {"viewBox": box, "style": "width:100%;max-width:29em;height:auto"}
    root.attrib |= {"role": "img", "aria-label": words}
    return ElementTree.tostring(root, encoding="unicode")
