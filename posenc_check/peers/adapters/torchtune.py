# SPDX-License-Identifier: MIT
"""torchtune: its rotary modules, each built by its own class, axes B T H D."""

from collections.abc import Iterator

from torchtune.models.convert_weights import hf_to_tune, tune_to_hf
from torchtune.models.llama3_1 import Llama3ScaledRoPE
from torchtune.models.phi3._position_embeddings import Phi3RotaryPositionalEmbeddings
from torchtune.models.qwen2._positional_embeddings import Qwen2RotaryPositionalEmbeddings
from torchtune.modules import RotaryPositionalEmbeddings

from posenc_check.peers.subject import Subject

# The base of a class is a whole number, and its table ends at max_seq_len.
INIT = "dim=head_dim, max_seq_len=max_len, base=base"


def llama3(head_dim, base, factor, trained_length, low_freq_factor, high_freq_factor):
    rope = Llama3ScaledRoPE(
        head_dim,
        base=base,
        scale_factor=factor,
        low_freq_factor=low_freq_factor,
        high_freq_factor=high_freq_factor,
        old_context_len=trained_length,
    )
    return rope.theta


def interleaved_rows(weight, n_heads):
    rows = {"model.layers.0.self_attn.q_proj.weight": weight}
    sizes = {"num_heads": n_heads, "num_kv_heads": n_heads, "dim": weight.shape[1]}
    converted = hf_to_tune(rows, **sizes, head_dim=weight.shape[0] // n_heads)
    return converted["layers.0.attn.q_proj.weight"]


def half_rows(weight, n_heads):
    rows = {"layers.0.attn.q_proj.weight": weight}
    sizes = {"num_heads": n_heads, "num_kv_heads": n_heads, "dim": weight.shape[1]}
    converted = tune_to_hf(rows, **sizes, head_dim=weight.shape[0] // n_heads)
    return converted["model.layers.0.self_attn.q_proj.weight"]


def subjects() -> Iterator[Subject]:
    options = {"axes": "BTHD", "init": INIT, "call": "x, input_pos=batch_positions"}
    for layout, kind in (
        ("interleaved", RotaryPositionalEmbeddings),
        ("half", Phi3RotaryPositionalEmbeddings),
        ("half", Qwen2RotaryPositionalEmbeddings),
    ):
        of = f"torchtune {kind.__name__}(dim, max_seq_len, base)(x, input_pos=positions)"
        yield Subject("rope", of, kind, options | {"layout": layout})
    of = "torchtune RotaryPositionalEmbeddings(dim, max_seq_len, base)(x)"
    plain = options | {"layout": "interleaved", "call": "x", "max_position": 4096}
    yield Subject("rope", of, RotaryPositionalEmbeddings, plain)
    of = "torchtune.models.llama3_1.Llama3ScaledRoPE(dim, base=base, ...).theta"
    yield Subject("scaling", of, llama3, {"rule": "llama3"})
    of = "torchtune.models.convert_weights.hf_to_tune on one q_proj"
    yield Subject("layout_weights", of, interleaved_rows, {"to": "interleaved"})
    of = "torchtune.models.convert_weights.tune_to_hf on one q_proj"
    yield Subject("layout_weights", of, half_rows, {"to": "half"})
