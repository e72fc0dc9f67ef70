"""Move every pin to the newest release: rewrites requirements.txt and constraints.txt."""

import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==\S+$", re.M)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    requirements = ROOT / "requirements.txt"
    wanted = PIN.findall(requirements.read_text())
    pip = [sys.executable, "-m", "pip", "install", "--upgrade", "--upgrade-strategy", "eager"]
    subprocess.run([*pip, *wanted], check=True)
    # A local label such as +cpu is no release: the plain version is what others can install.
    found = {normal(d.name): (d.name, d.version.split("+")[0]) for d in distributions()}
    requirements.write_text(
        PIN.sub(lambda m: f"{m[1]}=={found[normal(m[1])][1]}", requirements.read_text())
    )
    own = {normal(name) for name in wanted} | {"pip", "setuptools"}
    brought = sorted(pin for key, pin in found.items() if key not in own)
    (ROOT / "constraints.txt").write_text("".join(f"{n}=={v}\n" for n, v in brought))
    print("Pins rewritten. Run `make test`, then look at the pages.")


if __name__ == "__main__":
    main()
