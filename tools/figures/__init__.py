"""Draws the figures of the pages from the snippets: `python -m tools.figures`.

Each module holds one figure: `data()` returns the numbers that it shows, computed by the
snippets, and `draw()` the picture as one line of SVG.
"""

from pathlib import Path

TARGET = Path(__file__).parents[2] / "docs" / "_generated" / "figures"
NAMES = (
    "alibi_slopes",
    "frequency_sign",
    "learned_extend",
    "order_maps",
    "position_entry",
    "rope_layouts",
    "rope_rotation",
    "rope_scaling",
    "rope_score_gap",
    "rope_wavelengths",
    "shapes_broadcast",
    "shaw_buckets",
    "sinusoid_clock",
    "sinusoid_heatmap",
    "sinusoid_similarity",
    "t5_buckets",
)
