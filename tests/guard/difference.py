"""Show how two texts differ, word by word: [-page-] {+test+}.

Closes: a message that says "differs" and leaves the reader of the log to guess where.
"""

import difflib


def difference(page: str, test: str) -> str:
    ours, theirs = page.split(), test.split()
    words = []
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            words += ours[a:b]
            continue
        if a < b:
            words.append(f"[-{' '.join(ours[a:b])}-]")
        if c < d:
            words.append(f"{{+{' '.join(theirs[c:d])}+}}")
    return f"    page: {page}\n    test: {test}\n    diff: {' '.join(words)}"
