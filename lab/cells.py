"""A cache of finished parts, so that a long run can stop and go on.

A cell is one JSON file (or the weights of one model) under .lab/. It keeps the setting that it
was made with and counts only for that one. Delete .lab/ after a change of the code.
"""

import json
from collections.abc import Callable
from pathlib import Path

import torch

FOLDER = Path(__file__).resolve().parents[1] / ".lab"


def _written_whole(path: Path, write: Callable[[Path], None]) -> None:
    """A run that is stopped while it writes leaves no half file under the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    write(part)
    part.replace(path)


def numbers(name: str, setting: dict, compute: Callable[[], dict]) -> dict:
    """The result kept under .lab/<name>.json for this setting, else computed and kept."""
    path = FOLDER / f"{name}.json"
    setting = json.loads(json.dumps(setting))  # as it will be read: tuples become lists
    if path.exists():
        cell = json.loads(path.read_text(encoding="utf-8"))
        if cell["setting"] == setting:
            return cell["result"]
    result = compute()
    text = json.dumps({"setting": setting, "result": result})
    _written_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
    return json.loads(text)["result"]


def weights(name: str, setting: dict, compute: Callable[[], dict]) -> dict:
    """Likewise a state dict, under .lab/<name>.pt."""
    path = FOLDER / f"{name}.pt"
    setting = json.loads(json.dumps(setting))
    if path.exists():
        cell = torch.load(path, weights_only=True)
        if cell["setting"] == setting:
            return cell["result"]
    cell = {"setting": setting, "result": compute()}
    _written_whole(path, lambda part: torch.save(cell, part))
    return cell["result"]
