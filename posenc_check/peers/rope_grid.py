# SPDX-License-Identifier: MIT
"""The configurations that a library's own rope is asked about, each under a name."""

from posenc_check.peers.rope_case import (
    NESTED_LAYERS,
    block,
    case,
    llama3,
    longrope,
    nested,
    yarn,
)
from posenc_check.peers.rope_grid_odd import odd_cases

def grid() -> list[dict]:
    """Every case, names unique and sorted."""
    cases = [*_default(), *_linear(), *_dynamic(), *_yarn(), *_longrope(), *_llama3()]
    cases += [*_proportional(), *_nested(), *odd_cases()]
    cases.sort(key=lambda asked: asked["name"])
    if len({asked["name"] for asked in cases}) != len(cases):
        raise ValueError("names of cases must be unique")
    return cases


def _default():
    for head_dim, base in ((64, 1e4), (80, 1e4), (96, 150_000.0), (128, 5e5), (256, 1e6)):
        yield case(f"default {head_dim} base {base:g}", head_dim=head_dim, **block("default", base))
    sizes = {"head_dim": ..., "hidden_size": 320, "num_attention_heads": 5}
    yield case("default head_dim from hidden_size", rope_theta=1e4, **sizes)
    yield case("default base beside a null block", rope_theta=5e5, rope_scaling=None)
    neox = {"head_dim": ..., "hidden_size": 384, "rotary_emb_base": 10_000, "rotary_pct": 0.25}
    yield case("default partial with old names", model="GPTNeoX", **neox)
    keys = block("default") | {"partial_rotary_factor": 0.5}
    yield case("default partial", model="Phi", head_dim=80, **keys)


def _linear():
    for head_dim, factor, base in ((64, 1.0, 1e4), (80, 2.5, 1e4), (128, 4.0, 1e4), (256, 8, 1e6)):
        keys = block("linear", base, factor=factor)
        yield case(f"linear {head_dim} factor {factor}", head_dim=head_dim, **keys)
    old = {"rope_theta": 1e4, "rope_scaling": {"type": "linear", "factor": 2.0}}
    yield case("linear old keys", head_dim=96, **old)
    keys = block("linear", factor=4.0, partial_rotary_factor=0.5)
    yield case("linear partial in the block", head_dim=128, **keys)
    keys = block("linear", factor=4.0)
    yield case("linear partial beside it", head_dim=80, partial_rotary_factor=0.4, **keys)


def _dynamic():
    for length in (1, 2047, 2048, 2049, 4096, 8192):
        keys = block("dynamic", factor=2.0) | {"max_position_embeddings": 2048}
        yield case(f"dynamic 128 factor 2 length {length}", head_dim=128, length=length, **keys)
    for factor in (1.0, 4.0, 8.0):
        keys = block("dynamic", 5e5, factor=factor) | {"max_position_embeddings": 2048}
        yield case(f"dynamic 96 factor {factor}", head_dim=96, length=4096, **keys)
    keys = block("dynamic", factor=3.0, partial_rotary_factor=0.25)
    yield case("dynamic partial", head_dim=256, length=20_000, **keys)


def _yarn():
    for head_dim, factor, trained, base in (
        (64, 2.0, 2048, 1e4),
        (80, 4.0, 4096, 1e4),
        (96, 16.0, 4096, 1e4),
        (128, 4.0, 32768, 1e6),
        (128, 32.0, 4096, 1e4),
        (256, 8.0, 8192, 5e5),
    ):
        keys = yarn(factor, trained, base)
        yield case(f"yarn {head_dim} factor {factor:g} base {base:g}", head_dim=head_dim, **keys)
    for fast, slow in ((8, 1), (64, 2), (32.0, 0.5), (4, 3.5)):
        keys = yarn(beta_fast=fast, beta_slow=slow)
        yield case(f"yarn betas {fast} {slow}", head_dim=128, **keys)
    for truncate in (True, False):
        keys = yarn(32.0, 4096, 150_000, truncate=truncate)
        yield case(f"yarn truncate {truncate}", **keys)
    for mscale, all_dim in ((1.0, 1.0), (0.707, 0.707), (1.0, 0.5), (0.5, 2.0)):
        keys = yarn(40, mscale=mscale, mscale_all_dim=all_dim)
        yield case(f"yarn mscale {mscale} over {all_dim}", **keys)
    yield case("yarn attention_factor", head_dim=96, **yarn(attention_factor=1.2079441541679836))
    yield case("yarn attention_factor below 1", **yarn(attention_factor=0.5))
    yield case("yarn factor 1", head_dim=80, **yarn(1.0))
    yield case("yarn ramp of no width", **yarn(4.0, 4096, beta_fast=1.01, truncate=False))
    yield case("yarn partial", head_dim=128, **yarn(partial_rotary_factor=0.5))
    yield case("yarn short training", head_dim=64, **yarn(4.0, 64))
    old = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    qwen = {"rope_theta": 1e6, "rope_scaling": old, "max_position_embeddings": 32768}
    yield case("yarn old keys", head_dim=128, **qwen)
    yield case("yarn factor beside another ratio", **yarn() | {"max_position_embeddings": 40960})
    deep = {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}
    deep |= {"mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1}
    keys = {"qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "rope_theta": 10_000}
    keys |= {"hidden_size": 7168, "num_attention_heads": 128, "head_dim": ...}
    yield case("yarn latent attention", model="DeepseekV3", rope_scaling=deep, **keys)


def _longrope():
    for length in (1, 4095, 4096, 4097, 16384):
        yield case(f"longrope 96 length {length}", head_dim=96, length=length, **longrope(48))
    yield case("longrope factor", length=4097, **longrope(32, factor=4.0))
    yield case("longrope attention_factor", length=9, **longrope(32, attention_factor=1.25))
    yield case("longrope not extended", length=9, **longrope(32, 4096, 4096))
    keys = longrope(20, partial_rotary_factor=0.5)
    yield case("longrope partial", head_dim=80, length=5000, **keys)
    keys = longrope(32)
    keys["original_max_position_embeddings"] = keys["rope_parameters"].pop(
        "original_max_position_embeddings"
    )
    yield case("longrope length beside it", length=4097, **keys)


def _llama3():
    yield case("llama3 128 factor 8", head_dim=128, **llama3())
    yield case("llama3 64 factor 32", head_dim=64, **llama3(32.0))
    yield case("llama3 80 other edges", head_dim=80, **llama3(16.0, 4096, 2.0, 16, 1e4))
    yield case("llama3 256 narrow band", head_dim=256, **llama3(8, 2048, 1, 1.5, 1e4))
    yield case("llama3 partial", head_dim=96, **llama3(partial_rotary_factor=0.5))
    yield case("llama3 no longer than trained", **llama3() | {"max_position_embeddings": 8192})


def _proportional():
    for head_dim, share in ((64, 0.5), (80, 0.3), (256, 0.25), (128, 1.0)):
        keys = block("proportional", 1e6, partial_rotary_factor=share)
        yield case(f"proportional {head_dim} share {share}", head_dim=head_dim, **keys)
    keys = block("proportional", 1e6, partial_rotary_factor=0.25, factor=8.0)
    yield case("proportional factor", head_dim=256, **keys)


def _nested():
    full = yarn(4.0, 1024)["rope_parameters"]
    wide = llama3(8.0, 1024)["rope_parameters"]
    plain = {"rope_type": "default", "rope_theta": 1000.0}
    for layer in NESTED_LAYERS:
        keys = nested(full, plain) | {"max_position_embeddings": 4096, "layer_type": layer}
        yield case(f"nested yarn and default, {layer}", model="Olmo3", **keys)
        keys = nested(plain, wide) | {"layer_type": layer}
        yield case(f"nested default and llama3, {layer}", model="Olmo3", head_dim=128, **keys)
        gemma = {"rope_theta": 1_000_000, "rope_local_base_freq": 10_000}
        gemma |= {"rope_scaling": {"factor": 8.0, "rope_type": "linear"}}
        gemma |= {"max_position_embeddings": 131072, "layer_type": layer}
        yield case(f"gemma 3 old keys, {layer}", model="Gemma3Text", head_dim=256, **gemma)
