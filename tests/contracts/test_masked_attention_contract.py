"""check_masked_attention tells right attention over padded rows from wrong one."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from posenc_check.contracts import check_masked_attention
from snippets.attention import attention
from tests.contracts.judged import asked, failed, passed

FIRST = "is causal where nothing is padded"
WITHOUT = "is causal without a mask of padding"
LEFT = "padded on the left: tokens as if alone"
NUMBERS = "padded on the left: no NaN in the rows of pads"
GRADIENTS = "padded on the left: gradients are finite"
RIGHT = "padded on the right: tokens as if alone"
SIZES = "takes any batch, heads, length, and width"
EMPTY = "a row whose keys are all at -inf has no softmax"


def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


def itself(n):
    return torch.eye(n, dtype=torch.bool)


def with_mask(allowed, own=True):
    """allowed(n, keep) is what the mask was made of; own: a token always sees itself."""

    def attend(q, k, v, key_keep):
        n = q.shape[2]
        mask = allowed(n, key_keep) | (own & itself(n))
        return plain(q, k, v, lambda logits: logits.masked_fill(~mask, -math.inf))

    return attend


def plain(q, k, v, change, scale=None):
    logits = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    return change(logits).softmax(-1) @ v


def combined(n, keep):
    return causal(n) & keep[:, None, None]


def ours(q, k, v, key_keep=None):
    """A pad sees itself."""
    n = q.shape[2]
    keep = torch.ones(q.shape[0], n, dtype=torch.bool) if key_keep is None else key_keep
    return attention(q, k, v, mask=combined(n, keep) | itself(n))


def only_with_a_mask(q, k, v, key_keep=None):
    mask = None if key_keep is None else combined(q.shape[2], key_keep) | itself(q.shape[2])
    return attention(q, k, v, mask=mask)


def only_if_padded(q, k, v, key_keep=None):
    padded = key_keep is not None and not key_keep.all()
    return ours(q, k, v, key_keep) if padded else attention(q, k, v)


def replaced(q, k, v, key_keep):
    """NaN is taken out of the output; the gradient has it still."""
    added = torch.zeros(combined(q.shape[2], key_keep).shape, dtype=q.dtype)
    added = added.masked_fill(~combined(q.shape[2], key_keep), -math.inf)
    return torch.nan_to_num(plain(q, k, v, lambda logits: logits + added))


def after_softmax(q, k, v, key_keep):
    n = q.shape[2]
    weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(~causal(n), -math.inf)
    return (weights.softmax(-1) * key_keep[:, None, None]) @ v


def low(q, k, v, key_keep):
    keys = (~key_keep[:, None, None]).double() * -1e9
    future = (~causal(q.shape[2])).double() * -1e9
    return plain(q, k, v, lambda logits: logits + keys + future)


def zeroed(q, k, v, key_keep):
    mask = combined(q.shape[2], key_keep)
    return plain(q, k, v, lambda logits: logits * mask)


def one_added(q, k, v, key_keep):
    keep = key_keep[:, None, None].double()
    return plain(q, k, v, lambda x: (x + keep).masked_fill(~causal(q.shape[2]), -math.inf))


def queries_softmax(q, k, v, key_keep):
    logits = (q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    return logits.masked_fill(~combined(q.shape[2], key_keep), -math.inf).softmax(-2) @ v


def scaled(scale):
    def attend(q, k, v, key_keep):
        mask = combined(q.shape[2], key_keep) | itself(q.shape[2])
        return plain(q, k, v, lambda x: x.masked_fill(~mask, -math.inf), scale(q.shape[-1]))

    return attend


def first_row(n, keep):
    return causal(n) & keep[:1, None, None]


def one_size(q, k, v, key_keep):
    return ours(q.view(4, 4, 4, 6), k, v, key_keep)


def last_token(q, k, v, key_keep):
    """The padding is looked at from its last column: right for the left side alone."""
    n_pads = (~key_keep).sum(1)
    keep = torch.arange(q.shape[2]) >= n_pads[:, None]
    return ours(q, k, v, keep)


WRONG = {
    "MK02 masked_fill": (with_mask(combined, own=False), NUMBERS, EMPTY),
    "MK02 in the gradient": (with_mask(combined, own=False), GRADIENTS, EMPTY),
    "MK02 nan_to_num": (replaced, GRADIENTS, EMPTY),
    "MK06 only with a mask": (
        only_with_a_mask, WITHOUT, "the causal part is applied only where a mask of padding is"
    ),
    "MK06 only if padded": (only_if_padded, FIRST, "it is not causal"),
    "not causal": (with_mask(lambda n, keep: keep[:, None, None]), FIRST, "it is not causal"),
    "ignored": (with_mask(lambda n, keep: causal(n)), LEFT, "padded keys are seen"),
    "no mask": (with_mask(lambda n, keep: causal(n) | True), FIRST, "it is not causal"),
    "or": (with_mask(lambda n, keep: causal(n) | keep[:, None, None]), FIRST, "it is not causal"),
    "hides queries": (
        with_mask(lambda n, keep: causal(n) & keep[:, None, :, None]), LEFT, "padded keys are seen"
    ),
    "inverted": (with_mask(lambda n, keep: combined(n, ~keep)), LEFT, "key_keep is inverted"),
    "turned round": (
        with_mask(lambda n, keep: causal(n).T & keep[:, None, None]), FIRST, "the causal mask is t"
    ),
    "the next one": (
        with_mask(lambda n, keep: torch.ones(n, n).tril(1).bool() & keep[:, None, None]),
        FIRST,
        "a query sees one key too many",
    ),
    "padding of the first": (with_mask(first_row), LEFT, "every sequence of the batch has the"),
    "over queries and keys": (
        with_mask(lambda n, keep: causal(n) & keep), LEFT, "key_keep (B, T) lies over (Tq, Tk)"
    ),
    "of the heads": (
        with_mask(lambda n, keep: causal(n) & keep[None, :, None]), LEFT, "key_keep belongs to"
    ),
    "logits at 0": (zeroed, FIRST, "masked logits are set to 0"),
    "after the softmax": (after_softmax, LEFT, "padded keys are masked after the softmax"),
    "one added": (one_added, LEFT, "key_keep is added to the logits as 0 and 1"),
    "softmax over queries": (queries_softmax, FIRST, "the softmax runs over the queries"),
    "not scaled": (scaled(lambda d: 1.0), FIRST, "the logits are not divided by sqrt(D)"),
    "scaled by D": (scaled(lambda d: 1 / d), FIRST, "the logits are divided by D"),
    "twice as large": (
        lambda q, k, v, key_keep: 2 * ours(q, k, v, key_keep), FIRST, "every value is multiplied"
    ),
    "one size": (one_size, SIZES, ""),
    "pads on the left alone": (last_token, RIGHT, ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_fails_and_its_cause_is_told(name):
    attend, requirement, cause = WRONG[name]
    failed(check_masked_attention(attend), requirement, cause)


def test_each_requirement_is_failed_by_a_wrong_form():
    found = set()
    for attend, requirement, cause in WRONG.values():
        found |= failed(check_masked_attention(attend), requirement, cause)
    assert found == passed(check_masked_attention(ours))


def sdpa(query, key, value, mask):
    allowed = combined(query.shape[2], mask) | itself(query.shape[2])
    return scaled_dot_product_attention(query, key, value, attn_mask=allowed)


def whole_numbers(q, k, v, attention_mask):
    return ours(q, k, v, attention_mask.bool())


def as_padding(q, k, v, key_padding_mask, is_causal):
    return ours(q, k, v, ~key_padding_mask), is_causal


class Attention(nn.Module):
    def forward(self, q, k, v, key_keep=None):
        return ours(q.float(), k.float(), v.float(), key_keep)


@pytest.mark.parametrize("attend", [ours, sdpa, low, whole_numbers, as_padding, Attention])
def test_right_forms_pass(attend):
    report = check_masked_attention(attend)
    passed(report)
    assert asked(report) >= {FIRST, LEFT, NUMBERS, GRADIENTS, RIGHT, SIZES}
    assert (WITHOUT in asked(report)) == (attend in (ours, Attention))


def test_whole_numbers_are_passed_on_when_they_are_asked_for():
    def attend(q, k, v, ones):
        assert ones.dtype == torch.int64
        return ours(q, k, v, ones == 1)

    passed(check_masked_attention(attend, call="q, k, v, key_ones"))


def crash(q, k, v, key_keep):
    raise RuntimeError("no attention")


@pytest.mark.parametrize(
    "attend, text",
    [
        (crash, "crash(q, k, v, key_keep) raised RuntimeError: no attention"),
        (
            lambda q, k, v, key_keep: q[:, 0],
            "must return a tensor like q, (4, 4, 4, 6), got a tensor of shape (4, 4, 6)",
        ),
        (
            with_mask(lambda n, keep: combined(n, ~keep), own=False),
            "returned NaN at token 0, coordinate 0 (batch 0, head 0), expected 1.37395",
        ),
        (lambda q, k, v, key_keep: "y", "must return a tensor like q, got str"),
        (
            lambda q, k, v, key_keep: ours(q, k.mul_(1.5), v, key_keep),
            "<lambda>(q, k, v, key_keep) changes its argument k in place",
        ),
        (
            lambda q, k, v, window: None,
            "cannot tell what <lambda> takes as window; say all of its arguments in order with "
            "call (--call), in these words, or as name=5: causal, k, key_keep, key_ones, pad, q, v",
        ),
    ],
)
def test_what_cannot_be_used_is_told_word_for_word(attend, text):
    report = check_masked_attention(attend)
    assert report.unusable == text and report.exit_code == 2
