# SPDX-License-Identifier: MIT
"""The keys of rope in a model's config.json: which rule needs and knows which."""

# Older names of a rule. "mrope" turns plain pairs by three kinds of position.
OLD_RULES = {"su": "longrope", "mrope": "default"}

# What a block must say beyond its base; a length may stand beside the block.
NEEDED = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor", "max_position_embeddings"),
    "yarn": ("factor", "original_max_position_embeddings"),
    "longrope": ("short_factor", "long_factor", "original_max_position_embeddings"),
    "llama3": (
        "factor",
        "low_freq_factor",
        "high_freq_factor",
        "original_max_position_embeddings",
    ),
    "proportional": ("partial_rotary_factor",),
}

# What a block may say. Any other key inside a block is refused.
EVERY_BLOCK = (
    "rope_type",
    "type",
    "rope_theta",
    "partial_rotary_factor",
    # These two say which positions turn a pair, not how fast it turns.
    "mrope_section",
    "mrope_interleaved",
)
OPTIONAL = {
    "default": (),
    "linear": (),
    "dynamic": (),
    "yarn": (
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "mscale",
        "mscale_all_dim",
        "truncate",
    ),
    "longrope": ("attention_factor", "factor"),
    "llama3": (),
    "proportional": ("factor",),
}

BLOCKS = ("rope_parameters", "rope_scaling")
TEXT_PARTS = ("text_config", "language_config", "llm_config")

# Sizes stand in the config around a block, or beside the keys of a block read alone.
SIZES = (
    "head_dim",
    "global_head_dim",
    "qk_rope_head_dim",
    "qk_nope_head_dim",
    "hidden_size",
    "num_attention_heads",
    "max_position_embeddings",
)

# These may stand inside a block, or around it.
EITHER = ("rope_theta", "partial_rotary_factor", "original_max_position_embeddings")

# Two names outside a block for what a block calls otherwise (GPT-NeoX).
OLD_NAMES = {"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"}

# Keys around the block with "rope" or "rotary" in their names: these are read ...
READ_BESIDE = (
    *BLOCKS,
    "rope_theta",
    "rope_local_base_freq",
    "partial_rotary_factor",
    "qk_rope_head_dim",
    *OLD_NAMES.values(),
)
# ... and these change no speed: a layout of pairs, layers without rotation.
NO_SPEED = ("rope_interleave", "no_rope_layers", "no_rope_layer_interval")


def inside(rule: str) -> tuple[str, ...]:
    """All keys that a block with this rule may have."""
    needed = [key for key in NEEDED[rule] if key not in SIZES]
    return (*EVERY_BLOCK, *needed, *OPTIONAL[rule])
