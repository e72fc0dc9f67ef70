# SPDX-License-Identifier: MIT
"""alibi: does a bias take slope * distance from each logit, with queries behind cached keys too?

What a row shares does not matter, the softmax drops it: rows are compared after the number at
the query's own position is taken off.
"""

import torch
from torch import Tensor

from posenc_check import oracles
from posenc_check.contracts.answers import joined, joined_causes, place, spread
from posenc_check.factory import Factory
from posenc_check.report import Report
from posenc_check.wrong_forms.alibi import bias_forms, restarted

PAGE = "docs/methods/alibi.md"
DECODING = "docs/guides/decoding.md"
WORDS = ["n_heads", "q_len", "k_len", "length", "q_positions", "k_positions", "slopes"]
ANY_KEYS = ("k_len", "k_positions")


def check_alibi(
    bias, *, causal: bool = True, call: str | None = None, init: str | None = None
) -> Report:
    """Check the bias of ALiBi: what is added to the logits.

    Args:
        bias: takes the numbers of heads, queries, and keys; gives back what broadcasts to
            (H, Tq, Tk). The queries are the last of the keys.
        causal: compare only keys at or before the query; the others may hold anything.
        call: what bias takes, in order: n_heads, q_len, k_len, or length for both, or
            q_positions, k_positions, slopes.
        init: what its class takes, if it is one.

    Returns:
        The report.
    """
    options = {"causal": causal}
    default = "n_heads, q_len, k_len"
    with Factory.examine("alibi", bias, WORDS, default, call, init, options) as (exam, new):
        asked = Asked(exam, new({}), causal)
        asked.right_alone = asked.adds("takes slope * distance from the logits", [(4, 4, 4)])
        asked.adds("takes any number of heads and any length", [(2, 5, 5), (6, 3, 3), (1, 1, 1)])
        one, some = "one query stands behind its keys", "more queries stand behind the keys"
        if asked.subject.takes(*ANY_KEYS):
            asked.adds(one, [(2, 1, 5)], page=DECODING)
            asked.adds(some, [(2, 2, 5), (3, 4, 6)], page=DECODING)
        else:
            for name in (one, some):
                exam.skip(name, "no number of keys is passed", page=DECODING)
        far = (12, 1, 4096) if asked.subject.takes(*ANY_KEYS) else (12, 512, 512)
        # bfloat16 may round slope, distance, and product, each by 2 ** -9; a sum of float32 of
        # size 4096 is off by 2 ** -12.
        asked.adds("tells near keys apart in a long text", [far], tolerance=(2**-7, 1e-3))
    return exam.report


class Asked:
    """The subject under examination."""

    def __init__(self, exam, subject, causal: bool):
        self.exam, self.subject, self.causal = exam, subject, causal
        self.right_alone = False  # without cached keys

    def adds(self, name: str, sizes, page: str = PAGE, tolerance=(0.0, 1e-6)) -> bool:
        """One requirement: (heads, queries, keys) of some calls.

        Within a share of the expected number, and a number. 1e-6: distances here are small, and
        a power in float32 is not exact.
        """
        right = [self._look(size, oracle(*size)) for size in sizes]
        expected = joined(right)

        def where(index: tuple[int, ...]) -> str:
            call, (head, query, key) = place(right, index)
            query += sizes[call][2] - sizes[call][1]
            of = "H {}, Tq {}, Tk {}".format(*sizes[call])
            return f"head {head}, query {query}, key {key} ({of})"

        return self.exam.values(
            name,
            lambda: joined([self._answer(size) for size in sizes]),
            expected,
            page=page,
            tolerance=tolerance[0] * expected.abs() + tolerance[1],
            where=where,
            causes=joined_causes([self._forms(size) for size in sizes]),
        )

    def _answer(self, size) -> Tensor:
        n_heads, q_len, k_len = size
        q, k = positions(q_len, k_len)
        slopes = torch.tensor(oracles.alibi_slopes(n_heads))
        values = {"n_heads": n_heads, "q_len": q_len, "k_len": k_len, "length": k_len}
        values |= {"q_positions": q, "k_positions": k, "slopes": slopes}
        answer = spread(self.subject(values), size, "a bias of (heads, queries, keys)")
        return self._look(size, answer.cpu().double())

    def _look(self, size, bias: Tensor) -> Tensor:
        """Without what a row shares, and without keys that a causal mask hides."""
        if bias.shape != size:
            return torch.zeros(0)
        q, k = positions(*size[1:])
        own = bias[:, torch.arange(len(q)), q][..., None]  # (H, Tq, 1)
        shown = bias - torch.where(own.isfinite(), own, 0)
        return shown.masked_fill(k > q[:, None], 0) if self.causal else shown

    def _forms(self, size):
        sizes = (size[0], *positions(*size[1:]))
        # One query counted from 0 and a wrong sign look alike; a wrong sign shows without a cache.
        first, then = restarted(*sizes), list(bias_forms(*sizes))
        forms = first + then if self.right_alone else then + first
        return [(text, lambda form=form: self._look(size, form())) for text, form in forms]


def positions(q_len: int, k_len: int) -> tuple[Tensor, Tensor]:
    """The queries are the last of the keys."""
    keys = torch.arange(k_len)
    return keys[k_len - q_len :], keys


def oracle(n_heads: int, q_len: int, k_len: int) -> Tensor:
    q, k = positions(q_len, k_len)
    if k_len <= 16:
        return oracles.alibi_bias(q.tolist(), k.tolist(), oracles.alibi_slopes(n_heads))
    slopes = torch.tensor(oracles.alibi_slopes(n_heads), dtype=torch.float64)
    return torch.einsum("h,qk->hqk", slopes, -(q[:, None] - k).abs().double())
