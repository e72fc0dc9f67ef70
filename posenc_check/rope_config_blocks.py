# SPDX-License-Identifier: MIT
"""Where a config.json keeps its rope: one block, or one for each type of layer."""

from dataclasses import dataclass

from posenc_check.rope_config_keys import (
    BLOCKS,
    EITHER,
    NEEDED,
    NO_SPEED,
    OLD_NAMES,
    OLD_RULES,
    READ_BESIDE,
    SIZES,
    TEXT_PARTS,
)


class NoRope(ValueError):
    """What was given is not a config with rope in it."""


@dataclass(frozen=True)
class Block:
    """One set of keys; a null in the file counts as left out."""

    layer_type: str | None
    inside: dict
    beside: dict

    def places(self, key: str) -> dict[str, object]:
        """Each place that gives this key, and what it says."""
        found = {}
        if key in self.inside:
            found["in the block"] = self.inside[key]
        if key in self.beside and key in SIZES + EITHER:
            found["beside it"] = self.beside[key]
        if OLD_NAMES.get(key) in self.beside:
            found[f"as {OLD_NAMES[key]}"] = self.beside[OLD_NAMES[key]]
        return found

    def unread(self) -> list[str]:
        """Keys around the block that speak of rope and that nobody here reads."""
        about_rope = [key for key in self.beside if "rope" in key or "rotary" in key]
        return [key for key in about_rope if key not in READ_BESIDE + NO_SPEED]


def rope_blocks(config: dict) -> list[Block]:
    """Every block of a whole config, or of a block given alone.

    Raises:
        NoRope: if there is none.
        ValueError: if it cannot be said which keys belong to which layers.
    """
    if not isinstance(config, dict):
        raise NoRope(f"config must be a JSON object, got {type(config).__name__}")
    config = _text_part(_said(config))
    given = {name: config[name] for name in BLOCKS if name in config}
    for name, block in given.items():
        if not isinstance(block, dict):
            raise ValueError(f"{name} must be a JSON object, got {block!r}")
    if len(given) == 2 and given[BLOCKS[0]] != given[BLOCKS[1]]:
        raise ValueError(
            f"{BLOCKS[0]} and {BLOCKS[1]} must be equal, or one must be left out, got "
            f"{given[BLOCKS[0]]!r} and {given[BLOCKS[1]]!r}"
        )
    if given:
        return _split(next(iter(given.values())), config)
    if _is_block(config):
        block = {key: value for key, value in config.items() if key not in SIZES}
        return _split(block, {key: config[key] for key in SIZES if key in config})
    if not _speaks_of_rope(config):
        raise NoRope("config has no rope: no rope_parameters, rope_scaling or rope_theta")
    return _split({}, config)


def _said(config: dict) -> dict:
    return {key: value for key, value in config.items() if value is not None}


def _speaks_of_rope(config: dict) -> bool:
    return any("rope" in key or "rotary" in key for key in config)


def _is_block(config: dict) -> bool:
    if "rope_type" in config or "factor" in config or config.get("type") in (*NEEDED, *OLD_RULES):
        return True
    return any(isinstance(value, dict) and "rope_type" in value for value in config.values())


def _text_part(config: dict) -> dict:
    """The part about text in the config of a model that also sees or hears."""
    for name in TEXT_PARTS:
        part = config.get(name)
        if isinstance(part, dict) and _speaks_of_rope(_said(part)):
            if _speaks_of_rope(config):
                raise ValueError(f"rope must stand in {name} or beside it, got both")
            return _said(part)
    return config


def _split(block: dict, beside: dict) -> list[Block]:
    """One Block, or one for each type of layer."""
    nested = [key for key, value in block.items() if isinstance(value, dict)]
    local = beside.get("rope_local_base_freq")
    if nested:
        flat = [key for key, value in block.items() if key not in nested and value is not None]
        if flat:
            raise ValueError(
                f"a block must be flat or have one part for each layer type, got {flat[0]} "
                f"beside {nested[0]}"
            )
        if local is not None:
            raise ValueError(
                "rope_local_base_freq must be left out where a block names layer types, "
                f"got {local!r}"
            )
        return [Block(name, _said(block[name]), beside) for name in nested]
    if local is None:
        return [Block(None, _said(block), beside)]
    # Gemma 3: the block and rope_theta are those of the layers that see everything.
    around = {key: value for key, value in beside.items() if key not in ("rope_theta", *BLOCKS)}
    return [
        Block("full_attention", _said(block), beside),
        Block("sliding_attention", {"rope_theta": local}, around),
    ]
