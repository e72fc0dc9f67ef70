"""A digest of the tree, so that results of another tree are never shown as results of this one.

Closes: editing a page after the tests ran, and publishing it with the old check marks.
Works from the file contents alone: no git, no dates.
"""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = ("docs", "snippets", "tests", "posenc_check", "tools", "lab", "overrides")
FILES = (
    "mkdocs.yml", "README.md", "CHANGELOG.md", "conftest.py", "pytest.ini", "pyproject.toml",
    "requirements.txt", "constraints.txt", "Makefile",
)  # fmt: skip


def project_files(root: Path = ROOT) -> list[Path]:
    """Every file that can change what the site says or what the tests check, sorted."""
    found = [root / name for name in FILES if (root / name).is_file()]
    for folder in FOLDERS:
        found += [path for path in (root / folder).rglob("*") if path.is_file()]
    return sorted(path for path in found if matters(path.relative_to(root)))


def matters(path: Path) -> bool:
    made = {"__pycache__", "_generated"} & set(path.parts)
    hidden = any(part.startswith(".") or part.endswith(".egg-info") for part in path.parts)
    return not (made or hidden or path.suffix == ".pyc")


def tree_digest(root: Path = ROOT) -> str:
    digest = hashlib.sha256()
    for path in project_files(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()
