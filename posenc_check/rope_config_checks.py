# SPDX-License-Identifier: MIT
"""Every check of a block, once: the reader refuses with the same sentences that are listed."""

from posenc_check.rope_config_blocks import Block
from posenc_check.rope_config_keys import NEEDED, OLD_RULES, inside
from posenc_check.rope_config_layout import layout_notes
from posenc_check.rope_config_rules import RULES
from posenc_check.rope_config_values import Rope, Values, short


def check(block: Block) -> Rope:
    """Read a block and list what is wrong with it."""
    values, rope = Values(block), Rope(block.layer_type)
    rope.rule = _rule(values)
    if rope.rule:
        _keys(values, rope.rule)
        _sizes(values, rope)
        rope.max_length = values.whole("max_position_embeddings")
        rope.trained_key = "original_max_position_embeddings"
        if not values.given(rope.trained_key):
            rope.trained_key = "max_position_embeddings"
        rope.trained_length = values.whole(rope.trained_key)
        RULES[rope.rule](values, rope)
        _sections(values, rope)
        rope.layout = layout_notes(values)
    ahead = f"{rope.layer_type}: " if rope.layer_type else ""
    rope.refused = [ahead + text for text in values.refused]
    rope.doubtful = [ahead + text for text in rope.doubtful]
    return rope


def _rule(values: Values) -> str:
    new, old = values.value("rope_type"), values.value("type")
    if new is not None and old is not None and new != old:
        values.refuse(f"rope_type and type must agree, got {new!r} and {old!r}")
        # Which other keys are wrong depends on which of the two is meant.
        return ""
    name = new if new is not None else old if old is not None else "default"
    rule = OLD_RULES.get(name, name) if isinstance(name, str) else name
    if rule not in list(NEEDED):
        values.refuse(f"rope_type must be one of {', '.join(NEEDED)}, got {name!r}")
        return ""
    return rule


def _keys(values: Values, rule: str) -> None:
    for key, value in values.block.inside.items():
        if key not in inside(rule):
            values.refuse(f"{key} is no key of rope_type {rule}, got {short(value)}")
    for key in values.block.unread():
        value = short(values.block.beside[key])
        values.refuse(f"{key} is no key that this reader knows, got {value}")
    for key in ("rope_theta", *NEEDED[rule]):
        values.need(key, rule)


def _sizes(values: Values, rope: Rope) -> None:
    """The widths, and the base."""
    base = values.number("rope_theta")
    if base is not None and base <= 1:
        values.refuse(f"rope_theta must be larger than 1, got {base!r}")
        base = None
    rope.base = base or 0.0
    # In DeepSeek's attention a part of each head turns and the rest is kept apart.
    key = "qk_rope_head_dim" if values.given("qk_rope_head_dim") else "head_dim"
    if values.given("global_head_dim") and rope.layer_type == "full_attention":
        key = "global_head_dim"
    if values.given(key):
        rope.head_dim = values.whole(key) or 0
    elif values.given("hidden_size") and values.given("num_attention_heads"):
        hidden, heads = values.whole("hidden_size"), values.whole("num_attention_heads")
        if hidden and heads and hidden % heads:
            values.refuse(
                "hidden_size must be a multiple of num_attention_heads where head_dim is not "
                f"given, got {hidden} and {heads}"
            )
        elif hidden and heads:
            rope.head_dim = hidden // heads
        key = "head_dim = hidden_size // num_attention_heads"
    else:
        values.refuse("head_dim is missing, and so is hidden_size or num_attention_heads")
    rope.whole_head = rope.head_dim
    if key == "qk_rope_head_dim":
        rope.whole_head += values.whole("qk_nope_head_dim") or 0
    share = values.number("partial_rotary_factor")
    if share is not None and share > 1:
        values.refuse(f"partial_rotary_factor must be at most 1, got {share!r}")
    rope.share = 1.0 if share is None else min(share, 1.0)
    rope.width = int(rope.head_dim * rope.share)
    if rope.rule == "proportional":
        rope.width = 2 * int(rope.share * rope.head_dim // 2)
        if rope.head_dim % 2:
            values.refuse(f"{key} must be even, got {rope.head_dim}")
    if rope.head_dim and (rope.width < 2 or rope.width % 2):
        of = "" if share is None else f" of which {share!r} turns"
        values.refuse(
            f"rotated width must be even and at least 2, got {rope.width} from {key}, "
            f"{rope.head_dim}{of}"
        )


def _sections(values: Values, rope: Rope) -> None:
    """mrope_section shares the pairs out; it must share out all of them."""
    sections = values.value("mrope_section")
    if sections is None or not rope.width:
        return
    whole = isinstance(sections, list) and all(isinstance(part, int) for part in sections)
    if not whole or sum(sections) != rope.width // 2:
        values.refuse(
            f"mrope_section must add up to {rope.width // 2} pairs, got {sections!r}"
        )
