"""Small whole configurations, one for each rule, and a way to change them."""

import json
from pathlib import Path

import torch

import posenc_check

EXAMPLES = Path(posenc_check.__file__).parent / "examples"
SIZES = {"hidden_size": 192, "num_attention_heads": 12, "max_position_embeddings": 4096}
BLOCKS = {
    "default": {},
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 1024},
    "longrope": {
        "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
        "long_factor": [1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0],
        "original_max_position_embeddings": 1024,
    },
    "llama3": {
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024,
    },
    "proportional": {"partial_rotary_factor": 0.5},
}
LEAVE_OUT = object()


def config(rule: str, *, beside: dict | None = None, **block) -> dict:
    """A head of 16 coordinates, base 500, with some keys of the block changed."""
    keys = {"rope_type": rule, "rope_theta": 500.0, **BLOCKS.get(rule, {}), **block}
    return without({**SIZES, "rope_parameters": without(keys), **(beside or {})})


def without(keys: dict) -> dict:
    return {key: value for key, value in keys.items() if value is not LEAVE_OUT}


def example(name):
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def assert_speeds(got, want, rel=1e-12):
    """Float64 on both sides, a few operations each; literals bring their own tolerance."""
    assert got.dtype == torch.float64
    torch.testing.assert_close(got, torch.tensor(want, dtype=torch.float64), rtol=rel, atol=0)
