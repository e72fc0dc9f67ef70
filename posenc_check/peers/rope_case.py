# SPDX-License-Identifier: MIT
"""Parts from which the questions to a library's rope are put together."""

NESTED_LAYERS = ["full_attention", "sliding_attention"]


def case(name: str, *, model="Llama", head_dim=64, length=None, layer_type=None, **keys) -> dict:
    """One question; `model` names the class that reads the config; ... leaves a key out."""
    width = 64 if head_dim is ... else head_dim
    config = {
        "head_dim": head_dim,
        "hidden_size": 4 * width,
        "num_attention_heads": 4,
        "max_position_embeddings": 8192,
        **keys,
    }
    config = {key: value for key, value in config.items() if value is not ...}
    asked = {"name": name, "model": model, "config": config}
    return asked | {"length": length, "layer_type": layer_type}


def block(rope_type: str, base=10_000.0, **keys) -> dict:
    return {"rope_parameters": {"rope_type": rope_type, "rope_theta": base, **keys}}


def nested(full: dict, sliding: dict) -> dict:
    parts = {"full_attention": full, "sliding_attention": sliding}
    return {"rope_parameters": parts, "layer_types": NESTED_LAYERS, "num_hidden_layers": 2}


def factors(pairs: int, step: float) -> list[float]:
    """A list for longrope: it rises from 1, and no two numbers are equal."""
    return [round(1 + step * pair, 4) for pair in range(pairs)]


def yarn(factor=4.0, trained=4096, base=1e4, **keys) -> dict:
    more = {"factor": factor, "original_max_position_embeddings": trained}
    return block("yarn", base, **more, **keys) | {
        "max_position_embeddings": int(factor * trained)
    }


def longrope(pairs: int, trained=4096, longest=16384, **keys) -> dict:
    lists = {"short_factor": factors(pairs, 0.03), "long_factor": factors(pairs, 0.9)}
    more = {"original_max_position_embeddings": trained}
    return block("longrope", **lists, **more, **keys) | {"max_position_embeddings": longest}


def llama3(factor=8.0, trained=8192, low=1.0, high=4.0, base=5e5, **keys) -> dict:
    more = {"factor": factor, "original_max_position_embeddings": trained}
    more |= {"low_freq_factor": low, "high_freq_factor": high}
    return block("llama3", base, **more, **keys) | {"max_position_embeddings": 131072}
