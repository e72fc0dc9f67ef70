"""Write all figures into docs/_generated/figures."""

from importlib import import_module
from pathlib import Path

from tools.figures import NAMES, TARGET


def draw_all(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        picture = import_module(f"tools.figures.{name}").draw()
        (target / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    draw_all(TARGET)
    print(f"{len(NAMES)} figures drawn")
