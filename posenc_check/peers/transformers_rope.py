# SPDX-License-Identifier: MIT
"""Ask transformers' own rope about every case of the grid and keep the answers.

    python -m posenc_check.peers.transformers_rope [--record]

Without --record an answer that differs from the kept one is an error.
"""

import copy
import importlib
import logging
import re
import sys

import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.utils import logging as transformers_logging

from posenc_check.peers.results_file import finish
from posenc_check.peers.rope_grid import grid

NAME = "transformers_rope"
MODULES = {
    "DeepseekV3": "deepseek_v3",
    "GPTNeoX": "gpt_neox",
    "Gemma3Text": "gemma3",
    "Llama": "llama",
    "Olmo3": "olmo3",
    "Phi": "phi",
    "Phi3": "phi3",
}


class Heard(logging.Handler):
    """Collects the warnings of a library."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        # A set is printed in another order in each process.
        self.texts.append(re.sub(r"\{(.*?)\}", self.in_order, record.getMessage()))

    @staticmethod
    def in_order(names: re.Match) -> str:
        return "{" + ", ".join(sorted(names[1].split(", "))) + "}"


def rotary_module(model: str, config):
    """The module of the model's own class that holds the plain speeds."""
    place = f"transformers.models.{MODULES[model]}.modeling_{MODULES[model]}"
    name = model.removesuffix("Text") + "RotaryEmbedding"
    return getattr(importlib.import_module(place), name)(config)


def speeds(asked: dict) -> dict:
    """What transformers makes of one case."""
    model, layer_type, length = asked["model"], asked["layer_type"], asked["length"]
    # The class writes into what it is given.
    config = getattr(transformers, f"{model}Config")(**copy.deepcopy(asked["config"]))
    said = config.rope_parameters
    # A class that declares no types of layer takes any block as flat.
    layer_type = layer_type if getattr(config, "layer_types", None) else None
    rope_type = (said[layer_type] if layer_type else said)["rope_type"]
    if rope_type == "default":
        module = rotary_module(model, config)
        ahead = f"{layer_type}_" if layer_type else ""
        inv_freq = getattr(module, f"{ahead}inv_freq")
        attention_factor = getattr(module, f"{ahead}attention_scaling")
    else:
        rule = ROPE_INIT_FUNCTIONS[rope_type]
        inv_freq, attention_factor = rule(config, seq_len=length, layer_type=layer_type)
    # Nine digits are all that a float32 has.
    inv_freq = [float(f"{value:.9g}") for value in inv_freq.tolist()]
    return {"rope_type": rope_type, "inv_freq": inv_freq, "attention_factor": attention_factor}


def record(asked: dict) -> dict:
    """A case, and the answer or the error; warnings are a part of the answer."""
    heard = Heard()
    library_log = logging.getLogger("transformers")
    transformers_logging.warning_once.cache_clear()
    library_log.addHandler(heard)
    try:
        answer = speeds(asked)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    finally:
        library_log.removeHandler(heard)
    return asked | answer | {"warnings": heard.texts}


def main(arguments: list[str]) -> int:
    # The texts are kept in the results; standard error stays quiet.
    transformers_logging.disable_default_handler()
    torch.set_num_threads(1)
    versions = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    return finish(NAME, [record(asked) for asked in grid()], versions, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
