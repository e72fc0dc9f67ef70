"""Write the ledger of `docs/verified.md` and the stamp at the foot of the pages.

    python -m tools.ledger

Reads `.results/run.json`. Where that holds no green run of this very tree, every row is still
listed, with "not verified here yet" in place of a result. Writes `docs/_generated/ledger.md` and
`.results/stamp`: the text of the stamp on the first line, the id of the run on the second.
"""

import html
import re
import sys
from pathlib import Path

from tests.guard.digest import ROOT
from tests.guard.record import read_claims, read_run
from tests.guard.static import static_claims

NOT_YET = "not verified here yet"
PAGES = {
    "home": ("Home", "index.md"),
    "why-order": ("Why order needs a signal", "why-order.md"),
    "conventions": ("Conventions", "conventions.md"),
    "sinusoidal": ("Sinusoidal encoding", "methods/sinusoidal.md"),
    "learned": ("Learned table", "methods/learned.md"),
    "rope": ("RoPE", "methods/rope.md"),
    "partial-rope": ("Partial rotary and p-RoPE", "methods/partial_rope.md"),
    "rope-2d": ("RoPE on a grid", "methods/rope_2d.md"),
    "m-rope": ("M-RoPE", "methods/m_rope.md"),
    "xpos": ("xPos", "methods/xpos.md"),
    "rope-scaling": ("RoPE scaling", "methods/rope_scaling.md"),
    "yarn": ("YaRN", "methods/yarn.md"),
    "llama3-rope": ("Llama 3's RoPE", "methods/llama3_rope.md"),
    "longrope": ("LongRoPE", "methods/longrope.md"),
    "t5-bias": ("T5 bias", "methods/t5_bias.md"),
    "alibi": ("ALiBi", "methods/alibi.md"),
    "kerple": ("KERPLE", "methods/kerple.md"),
    "sandwich": ("Sandwich", "methods/sandwich.md"),
    "fire": ("FIRE", "methods/fire.md"),
    "fox": ("FoX", "methods/fox.md"),
    "cope": ("CoPE", "methods/cope.md"),
    "shaw": ("Relative vectors", "methods/shaw.md"),
    "transformer-xl": ("Transformer-XL", "methods/transformer_xl.md"),
    "deberta": ("DeBERTa", "methods/deberta.md"),
    "nope": ("NoPE", "methods/nope.md"),
    "choosing": ("Choosing a method", "guides/choosing.md"),
    "shapes": ("Read the code through its shapes", "guides/shapes.md"),
    "family": ("Relative methods: a family", "guides/family.md"),
    "decoding": ("Decoding", "guides/decoding.md"),
    "precision": ("Precision", "guides/precision.md"),
    "fused": ("Fused attention", "guides/fused.md"),
    "longer-context": ("What longer context really requires", "guides/longer_context.md"),
    "perplexity": ("What perplexity cannot see", "guides/perplexity.md"),
    "parallel": ("Positions across machines", "guides/parallel.md"),
    "your-code": ("Check your own code", "check/your_code.md"),
    "faults": ("Faults by symptom", "check/faults.md"),
    "faults-rotation": ("Faults of rotations", "check/faults_rotation.md"),
    "faults-scaling": ("Faults of scaling", "check/faults_scaling.md"),
    "faults-tables": ("Faults of tables and positions", "check/faults_tables.md"),
    "faults-attention": ("Faults of caches, masks, and biases", "check/faults_attention.md"),
    "libraries": ("Libraries compared", "check/libraries.md"),
    "config": ("A model's config", "check/config.md"),
    "clock": ("The clock of sine waves", "notebooks/clock.py"),
    "beyond-length": ("Trained short, read long", "notebooks/beyond_length.py"),
    "real-models": ("Two real models", "notebooks/real_models.py"),
}
TEX = re.compile(r"(\\\(.*?\\\)|\\\[.*?\\\])")


def main(root: Path = ROOT) -> None:
    run, reason = read_run(root)
    rows = collect_rows(static_claims(root), run)
    write(root / "docs/_generated/ledger.md", head(run) + "".join(section(*s) for s in rows))
    write(root / ".results/stamp", "\n".join(stamp(run)) + "\n")
    if reason:
        print(f"ledger: {NOT_YET}; {reason}", file=sys.stderr)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:  # spare `mkdocs serve`
        path.write_text(text, encoding="utf-8")


def collect_rows(claims: dict, run: dict | None):
    """[(page prefix, [(id, text, record or None, tests, result)])]; pages in reading order, claims as written."""
    results = read_claims(run) if run else {}
    pages: dict[str, list] = {prefix: [] for prefix in PAGES}
    for claim_id, claim in claims.items():
        result = result_of(results.get(claim_id)) if run else NOT_YET
        text = claim["text"] or "(this claim has no sentence)"
        row = (claim_id, text, claim["measured"], claim["tests"], result)
        fitting = [prefix for prefix in PAGES if claim_id.startswith(f"{prefix}-")]
        pages.setdefault(max(fitting, key=len, default=claim_id), []).append(row)
    return [(prefix, rows) for prefix, rows in pages.items() if rows]


def result_of(claim: dict | None) -> str:
    outcomes = list(claim["tests"].values()) if claim else []
    if outcomes and all(outcome == "passed" for outcome in outcomes):
        return "passed" if len(outcomes) == 1 else f"passed, {len(outcomes)} cases"
    return "failed"


def stamp(run: dict | None) -> tuple[str, str]:
    if run is None:
        return f"This build: {NOT_YET}", "none"
    torch, python = run["versions"]["torch"], run["versions"]["python"]
    return (
        f"Verified with torch {torch}, Python {python} on {run['date']}: "
        f"{len(run['claims'])} claims, {len(run['blocks'])} code blocks",
        run["id"],
    )


def head(run: dict | None) -> str:
    if run is None:
        return f"This build: {NOT_YET}. `make test` fills in the results.\n\n"
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    commit = f"Commit `{run['commit']}`" if run["commit"] else "No commit was recorded"
    return (
        f"{len(run['claims'])} claims and {len(run['blocks'])} code blocks passed on {run['date']} "
        f"at {run['time']} with {versions}. {commit}.\n\n"
    )


def section(prefix: str, rows: list) -> str:
    """Raw HTML, so that no sentence can break a Markdown table or become a mark itself."""
    title, page = PAGES.get(prefix, (prefix.capitalize(), None))
    heading = f"[{title}]({page})" if page else title
    body = "".join(row(*cells) for cells in rows)
    return (
        f"## {heading} {{ #page-{prefix} }}\n\n"
        '<table class="ledger">\n<thead><tr><th>Sentence</th><th>Kind</th><th>Test</th>'
        f"<th>Result</th></tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n\n"
    )


def row(claim_id: str, text: str, measured: str | None, tests: list[str], result: str) -> str:
    sources = [*tests, measured] if measured else tests
    names = "<br>".join(f"<code>{breakable(source)}</code>" for source in sources)
    kind = "measured" if measured else "checked"
    state = "passed" if result.startswith("passed") else "open" if result == NOT_YET else "failed"
    return (
        f'<tr id="{claim_id}"><td>{sentence(text)}</td><td>{kind}</td><td>{names}</td>'
        f'<td class="{state}">{result}</td></tr>\n'
    )


def sentence(text: str) -> str:
    """TeX in the same wrapping that arithmatex makes, everything else escaped."""
    parts = []
    for part in TEX.split(text):
        tag = {"\\(": "span", "\\[": "div"}.get(part[:2]) if TEX.fullmatch(part) else None
        escaped = html.escape(part, quote=False)
        parts.append(f'<{tag} class="arithmatex">{escaped}</{tag}>' if tag else escaped)
    return "".join(parts)


def breakable(test: str) -> str:
    """Test names are long: let narrow screens break them after each part."""
    return re.sub(r"(::|/|_)", r"\1<wbr>", html.escape(test))


if __name__ == "__main__":
    main()
