# SPDX-License-Identifier: MIT
"""Hold the pieces of a group of libraries against the contracts and keep what was found.

    python -m posenc_check.peers.libraries transformers [--record]

Without --record a finding that differs from the kept one is an error. Each group has an
environment of its own, posenc_check/peers/requirements-<group>.txt.
"""

import importlib
import importlib.metadata
import logging
import random
import re
import sys
import warnings

import torch

from posenc_check.contracts import CONTRACTS
from posenc_check.peers.results_file import finish
from posenc_check.peers.subject import Subject

# A group's modules of adapters/; the library of each, as the package index names it.
GROUPS = {
    "transformers": {
        "transformers_rotary": "transformers",
        "transformers_scaling": "transformers",
        "transformers_growth": "transformers",
        "transformers_bias": "transformers",
        "transformers_tables": "transformers",
        "transformers_masks": "transformers",
        "transformers_decoders": "transformers",
    },
    "torch": {
        "diffusers": "diffusers",
        "litgpt": "litgpt",
        "litgpt_decoder": "litgpt",
        "positional_encodings": "positional-encodings",
        "rotary_embedding_torch": "rotary-embedding-torch",
        "torch_itself": "torch",
        "torchtune": "torchtune",
        "torchtune_decoder": "torchtune",
        "x_transformers": "x-transformers",
        "x_transformers_decoder": "x-transformers",
    },
    "jax": {
        "equinox": "equinox",
        "keras_hub_rotation": "keras-hub",
        "keras_hub_tables": "keras-hub",
    },
}
BENEATH = {"transformers": ["torch"], "torch": ["torch"], "jax": ["jax", "keras", "torch"]}
COLOURS = re.compile("\x1b\\[[0-9;]*m")
LONGEST = 300
KEPT = ("name", "status", "where", "expected", "got", "cause", "reason")


def line(text: str) -> str:
    """An error of a library may fill a screen."""
    text = " ".join(COLOURS.sub("", text).split())
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."


def record(library: str, subject: Subject) -> dict:
    """What its contract found; numbers are texts of six digits there."""
    torch.manual_seed(0)
    random.seed(0)  # keras draws its seeds from here
    report = CONTRACTS[subject.contract](subject.subject, **subject.options).as_dict()
    return {
        "library": library,
        "contract": subject.contract,
        "of": subject.of,
        "options": report["options"],
        "note": subject.note,
        "unusable": line(report["unusable"]),
        "requirements": [
            {key: line(found[key]) for key in KEPT if found[key]}
            for found in report["requirements"]
        ],
    }


def records(group: str):
    """In the order of the adapters: what one subject leaves in memory the next one meets."""
    for module, library in GROUPS[group].items():
        adapter = importlib.import_module(f"posenc_check.peers.adapters.{module}")
        for subject in adapter.subjects():
            yield record(library, subject)


def versions(group: str) -> dict:
    names = {*GROUPS[group].values(), *BENEATH[group]}
    return {name: importlib.metadata.version(name).split("+")[0] for name in sorted(names)}


def summary(found: list[dict]) -> str:
    asked = [one["status"] for entry in found for one in entry["requirements"]]
    failed = f"{asked.count('fail')} of {asked.count('pass') + asked.count('fail')}"
    whole = sum(bool(entry["unusable"]) for entry in found)
    return f"{len(found)} subjects, {failed} requirements failed, {whole} could not be checked"


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in GROUPS:
        print(f"name a group: {', '.join(GROUPS)}")
        return 2
    group = arguments[0]
    # Of the libraries' own talk nothing is kept.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = list(records(group))
    print(f"{group}: {summary(found)}")
    command = f"python -m posenc_check.peers.libraries {group} --record"
    return finish(f"libraries_{group}", found, versions(group), arguments[1:], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
