"""What became of the mutants: the record that a machine writes, and the reasons people write.

Closes: a survivor nobody looks at, a reason for a mutant that is long dead, and a record of other
code. `mutants.json` names what was not killed; `mutants.toml` says of each why no test can. A
record is stale when a file that decided it has changed: the snippet, a test file that killed a
mutant, a helper such a file imports from `tests/`, or the mutator.
"""

import hashlib
import json
import tomllib
from pathlib import Path

from tests.guard.sabotaged_tests import imports

RECORD = Path("tests/guard/mutants.json")
REASONS = Path("tests/guard/mutants.toml")
MUTATOR = tuple(
    f"tests/guard/{stem}.py"
    for stem in ("mutants", "mutation_values", "mutation_steps", "mutated_tests", "graft")
)
COMMAND = "make mutants"
# A table of mutants.toml, and the outcome that it may excuse; any other outcome is a fault.
KINDS = {"equivalent": "survived", "timeout": "timeout"}
# Tests of a snippet under another name than its own.
ALSO = {
    "deberta": ("test_attention_masks",),
    "m_rope": ("test_rope_variants_precision",),
    "rope_2d": ("test_rope_variants_precision",),
    "rope_scaling": ("test_dynamic_ntk",),
    "shaw": ("test_attention_masks",),
    "shaw_bucketed": ("test_attention_masks", "test_shaw_checks"),
    "sinusoidal": ("test_buffer_semantics", "test_max_len"),
    "t5_bias": ("test_t5_bucket",),
    "transformer_xl": ("test_attention_masks", "test_relative_keys"),
    "xpos": ("test_rope_variants_precision",),
}


def stems(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / "snippets").glob("[!_]*.py"))


def snippet_tests(stem: str, root: Path) -> list[str]:
    """The snippet's own test files and those of claims, as far as they import it."""
    longer = tuple(f"test_{other}" for other in stems(root) if other.startswith(f"{stem}_"))
    named = (root / "tests").glob(f"test_{stem}*.py")
    found = [path for path in named if not path.stem.startswith(longer)]
    found += [root / f"tests/{name}.py" for name in ALSO.get(stem, ())]
    found += (root / "tests/claims").glob("test_*.py")
    module = f"snippets.{stem}"
    found = [path for path in found if module in imports(path.read_text(encoding="utf-8"))]
    return sorted(path.relative_to(root).as_posix() for path in found)


def deciding_files(files: set[str], root: Path) -> list[str]:
    """With the helpers that they import from tests/. Not the oracles in posenc_check: a test
    compares them with the snippet, so a wrong one is noticed when the tests run."""
    found, new = set(), set(files)
    while new:
        found |= new
        named = set().union(*(imports((root / f).read_text(encoding="utf-8")) for f in new))
        paths = {name.replace(".", "/") + ".py" for name in named if name.startswith("tests.")}
        paths = {p for p in paths if (root / p).is_file() and not p.startswith("tests/guard/")}
        new = paths - found
    return sorted(found)


def digest(stem: str, files: list[str], root: Path) -> str:
    total = hashlib.sha256()
    for file in (f"snippets/{stem}.py", *MUTATOR, *files):
        path = root / file
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "gone"
        total.update(f"{file} {content}\n".encode())
    return total.hexdigest()


def read_record(root: Path) -> dict[str, dict]:
    path = root / RECORD
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def write_record(record: dict[str, dict], root: Path) -> None:
    record = {stem: record[stem] for stem in stems(root) if stem in record}
    (root / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


Reasons = dict[str, tuple[str, str]]  # {mutant: (the outcome that is excused, the reason)}


def read_reasons(root: Path) -> dict[str, Reasons]:
    tables = tomllib.loads((root / REASONS).read_text(encoding="utf-8"))
    if not tables.keys() <= KINDS.keys():
        raise ValueError(f"{REASONS}: tables are {', '.join(KINDS)}, got {', '.join(tables)}")
    found: dict[str, Reasons] = {}
    for kind, entries in tables.items():
        for entry in entries:
            reasons = found.setdefault(entry["snippet"], {})
            for name in entry["mutants"]:
                if name in reasons or not entry["reason"].strip():
                    raise ValueError(f"{entry['snippet']} {name}: needs one reason")
                reasons[name] = KINDS[kind], entry["reason"]
    return found


def record_problems(stem: str, record: dict[str, dict], root: Path) -> list[str]:
    """Whether the record belongs to this tree."""
    if stem not in record:
        return [f"{stem}: its mutants have never run: {COMMAND}"]
    if record[stem]["digest"] != digest(stem, record[stem]["files"], root):
        files = ", ".join([f"snippets/{stem}.py", *record[stem]["files"]])
        return [f"{stem}: changed since its mutants ran: {COMMAND} (one of {files}, the mutator)"]
    return []


def verdict_problems(stem: str, found: dict, reasons: Reasons) -> list[str]:
    """Whether each mutant was killed, or has a reason, and no reason is left over."""
    outcome = {name: status for status, names in found["not killed"].items() for name in names}
    problems = []
    for name, status in outcome.items():
        if status != "does not import" and reasons.get(name, ("",))[0] != status:
            problems.append(f"{stem} {name}: {status}; no test notices, no reason in {REASONS}")
    for name, (excused, _) in reasons.items():
        if outcome.get(name) != excused:
            same = [other for other in outcome if other.split(" ", 1)[1] == name.split(" ", 1)[1]]
            now = f"; perhaps it is now {' or '.join(same)}" if same else ""
            problems.append(f"{stem} {name}: stale reason in {REASONS}: dead or gone{now}")
    return problems
