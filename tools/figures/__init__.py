"""Draws the figures of the pages from the snippets: `python -m tools.figures`.

Each module holds one figure: `data()` returns the numbers that it shows, computed by the
snippets, and `draw()` the picture as one line of SVG.
"""

from pathlib import Path

TARGET = Path(__file__).parents[2] / "docs" / "_generated" / "figures"
NAMES = (
    "frequency_sign",
    "position_entry",
    "rope_layouts",
    "rope_rotation",
    "rope_score_gap",
    "rope_wavelengths",
    "shapes_broadcast",
    "sinusoid_clock",
    "sinusoid_heatmap",
    "sinusoid_similarity",
)
