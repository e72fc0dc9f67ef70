"""Draws the figures of the pages from the snippets: `python -m tools.figures`.

Each module holds one figure: `data()` returns the numbers that it shows, computed by the
snippets, and `draw()` the picture as one line of SVG.
"""

from pathlib import Path

TARGET = Path(__file__).parents[2] / "docs" / "_generated" / "figures"
NAMES = (
    "alibi_slopes",
    "bias_shapes",
    "cope_positions",
    "decode_positions",
    "dynamic_stale",
    "fire_shares",
    "fox_gates",
    "frequency_sign",
    "learned_extend",
    "llama3_bands",
    "m_rope_sections",
    "nope_counts",
    "order_maps",
    "parallel_split",
    "partial_rope",
    "position_entry",
    "precision_positions",
    "relative_shift",
    "rope_2d_map",
    "rope_bands",
    "rope_layouts",
    "rope_rotation",
    "rope_scaling",
    "rope_score_gap",
    "rope_turns",
    "rope_wavelengths",
    "score_after_scaling",
    "shapes_broadcast",
    "shaw_buckets",
    "sinusoid_clock",
    "sinusoid_heatmap",
    "sinusoid_similarity",
    "t5_buckets",
    "xpos_fade",
    "yarn_ramps",
)
