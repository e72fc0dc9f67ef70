"""check_cache tells a right cache from wrong ones."""

import functools
import math

import pytest
import torch
from torch import nn

from posenc_check.contracts import check_cache
from snippets.rope import apply_rope
from tests.contracts.cached import SPEEDS, Step
from tests.contracts.judged import asked, failed, passed
from tests.exact import raises_exactly

EMPTY = "starts with an empty cache"
FUTURE = "a later token changes no earlier output"
BATCH = "the sequences of a batch do not mix"
ORDER = "the order of earlier tokens counts"
LATE = "the order of late tokens counts"
PREFILL, SINGLE, CHUNK, SIZES, LONG, FAR = (
    f"equals the full pass: {chunks}"
    for chunks in (
        "a prefill, then single tokens",
        "single tokens from the first one on",
        "a chunk behind a prefill",
        "chunks of several sizes",
        "many steps",
        "a long prefill, single tokens, and a chunk",
    )
)
RESTARTED = "each call counts from position 0 again"
AGAIN = "cached keys are rotated again at each step"
JUMPS = "positions jump after the first step"
UPPER_LEFT = "the mask is aligned to the upper left"
BORDERS = "each border between chunks moves the positions"


def faulty(**methods):
    """A Step with some methods replaced."""
    return type("Faulty", (Step,), methods)


def from_zero(self, n):
    return torch.arange(n)


def moved(by):
    """All but the first chunk."""
    return lambda self, n: Step.positions(self, n) + (by if self.cached else 0)


def once_more(self, n):
    """The size of the chunk before is added again."""
    self.cached += n + getattr(self, "last", 0)
    self.last = n


def twice(self, n):
    self.cached += 2 * n


def turned_again(self):
    return self.turn(self.keys, torch.arange(self.cached)) if self.cached else self.keys


class AllAgain(Step):
    """All keys, new ones too, are turned with each step; what is turned is kept."""

    def __call__(self, x):
        n = x.shape[1]
        q, k, v = (self.heads(x @ weight) for weight in self.weight)
        keys = self.join(self.keys, k)
        self.keys = self.turn(keys, torch.arange(self.cached + n))
        self.values = self.join(self.values, v)
        q = self.turn(q, self.positions(n))
        y = self.attend(q, self.keys, self.values, self.mask(n, keys.shape[2]))
        self.advance(n)
        return y.transpose(1, 2).flatten(2)


class Table(Step):
    """Absolute positions, added to x."""

    def __call__(self, x):
        table = torch.sin(torch.arange(256.0)[:, None] / 7 + torch.arange(8) * 5)
        return super().__call__(x + table[self.positions(x.shape[1])])

    def turn(self, x, positions):
        return x


class Two(nn.Module):
    """Two layers."""

    def __init__(self, layer=Step):
        super().__init__()
        self.layers = [layer(), layer()]

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


class Shared(Step):
    """One cache for all instances."""

    kept = []

    def join(self, old, new):
        # Keys and values in turn; sequences of another batch are left alone.
        self.kept.append(new)
        fitting = [other for other in self.kept[-3::-2] if len(other) == len(new)]
        return torch.cat((*fitting[::-1], new), dim=2)


def other_weights():
    """As if from a generator that no seed reaches."""
    step = Step()
    step.weight = step.weight * len(Shared.kept)
    Shared.kept.append(0)
    return step


class Fixed(Step):
    """Room for eight tokens."""

    def advance(self, n):
        super().advance(n)
        if self.cached > 8:
            raise IndexError("the cache is full")


class Rolling(Step):
    kept = 16

    def join(self, old, new):
        return super().join(old[:, :, -self.kept :] if old.numel() else old, new)


def first_batch(self, old, new):
    return torch.cat((old[:1].expand(len(new), -1, -1, -1), new), 2) if old.numel() else new


def lost(self, old, new):
    return Step.join(self, old[:, :, :-1] if old.numel() else old, new)


def by_call(self, x, positions):
    """Speeds by the length of the call, as dynamic NTK has them."""
    return apply_rope(x, positions, SPEEDS / max(1, x.shape[2] / 2))


WRONG = {
    "KV01 from 0": (faulty(positions=from_zero), PREFILL, RESTARTED),
    "KV01 from 0, single tokens": (faulty(positions=from_zero), SINGLE, RESTARTED),
    "KV01 keys from 0": (faulty(key_positions=from_zero), CHUNK, RESTARTED),
    "KV01 a table from 0": (
        type("TableFromZero", (Table,), {"positions": from_zero}), PREFILL, RESTARTED
    ),
    "KV01 two layers from 0": (
        functools.partial(Two, faulty(positions=from_zero)), PREFILL, BORDERS
    ),
    "KV01 queries from 0": (faulty(query_positions=from_zero), PREFILL, "only the queries are"),
    "KV01 one short": (faulty(positions=moved(-1)), PREFILL, "the positions of a later chunk are"),
    "KV01 one too far": (faulty(positions=moved(1)), PREFILL, "the positions of all later chunks"),
    "KV01 queries one too far": (faulty(query_positions=moved(1)), PREFILL, "only the queries are"),
    "KV01 calls are counted": (
        faulty(positions=lambda self, n: self.calls + torch.arange(n)), PREFILL, "the offset counts"
    ),
    "KV01 a chunk at one place": (
        faulty(positions=lambda self, n: torch.arange(n) * (not self.cached) + self.cached),
        CHUNK,
        "the tokens of a later chunk share one position",
    ),
    "KV03 once more": (faulty(advance=once_more), PREFILL, JUMPS),
    "KV03 once more, several sizes": (faulty(advance=once_more), SIZES, JUMPS),
    "KV03 twice": (faulty(advance=twice), PREFILL, BORDERS),
    "KV03 two layers": (functools.partial(Two, faulty(advance=once_more)), PREFILL, JUMPS),
    "KV05 cached keys": (faulty(old_keys=turned_again), PREFILL, AGAIN),
    "KV05 all keys": (AllAgain, PREFILL, AGAIN),
    "KV05 two layers": (functools.partial(Two, AllAgain), SINGLE, AGAIN),
    "MK01 upper left": (
        faulty(mask=lambda self, n, total: torch.ones(n, total).tril().bool()), PREFILL, UPPER_LEFT
    ),
    "MK01 in chunks alone": (
        faulty(mask=lambda self, n, total: torch.ones(n, total).tril().bool() | (n == 1)),
        CHUNK,
        UPPER_LEFT,
    ),
    "MK01 two layers": (
        functools.partial(
            Two, faulty(mask=lambda self, n, total: torch.ones(n, total).tril().bool())
        ),
        PREFILL,
        UPPER_LEFT,
    ),
    "no mask behind a cache": (
        faulty(mask=lambda self, n, total: Step.mask(self, n, total) | bool(self.cached)),
        CHUNK,
        "the tokens of a chunk see later ones of it",
    ),
    "no mask": (
        faulty(mask=lambda self, n, total: torch.ones(n, total).bool()), FUTURE, "no causal mask"
    ),
    "no cache": (faulty(join=lambda self, old, new: new), PREFILL, "cached keys are not seen"),
    "the last token is lost": (
        faulty(join=lost), PREFILL, "token 3 does not see token 2",
    ),
    "a rolling cache": (Rolling, LONG, "the first tokens have left the cache"),
    "a rolling cache of 40": (
        type("Forty", (Rolling,), {"kept": 40}), FAR, "the first tokens have left the cache"
    ),
    "a rolling cache of 16, far": (Rolling, FAR, "the first tokens have left the cache"),
    "positions end at 32": (
        faulty(positions=lambda self, n: Step.positions(self, n).clamp(max=32)),
        LATE,
        "positions stop growing",
    ),
    "a full cache": (Fixed, LONG, ""),
    "one cache for all": (Shared, EMPTY, "a run finds what an earlier one cached"),
    "other weights each time": (other_weights, EMPTY, "a run finds what an earlier one cached"),
    "the first of the batch": (faulty(join=first_batch), BATCH, "the sequences of a batch share"),
    "no positions": (faulty(turn=lambda self, x, p: x), ORDER, "no position reaches the attention"),
    "speeds by the call": (faulty(turn=by_call), PREFILL, "the first chunk differs already"),
    "drifting": (
        faulty(positions=lambda self, n: Step.positions(self, n) + (self.cached > 20)), LONG, ""
    ),
}


@functools.cache
def report_of(name):
    Shared.kept.clear()
    return check_cache(WRONG[name][0])


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_form_fails_and_its_cause_is_told(name):
    failed(report_of(name), *WRONG[name][1:])


def test_each_requirement_is_failed_by_a_wrong_form():
    found = [failed(report_of(name), *WRONG[name][1:]) for name in WRONG]
    assert set().union(*found) == passed(check_cache(Step))


def test_attention_without_positions_passes_where_order_is_not_asked_for():
    report = check_cache(faulty(turn=lambda self, x, p: x), ordered=False)
    passed(report)
    assert ORDER not in asked(report)


class Module(nn.Module):
    """Linear layers, float32 until the check makes them float64; a growing cache of its own."""

    def __init__(self, hidden_size):
        super().__init__()
        self.project = nn.Linear(hidden_size, 3 * hidden_size)
        self.drop = nn.Dropout(0.5)
        self.cache = None

    def forward(self, hidden_states):
        q, k, v = self.drop(self.project(hidden_states)).chunk(3, dim=-1)
        before = 0 if self.cache is None else self.cache[0].shape[1]
        here = torch.arange(before, before + q.shape[1])
        q, k = (apply_rope(t[:, None], here, SPEEDS.new_ones(1))[:, 0] for t in (q, k))
        if self.cache is not None:
            k, v = torch.cat((self.cache[0], k), 1), torch.cat((self.cache[1], v), 1)
        self.cache = (k, v)
        logits = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        hidden = torch.arange(k.shape[1]) > here[:, None]
        return logits.masked_fill(hidden, -math.inf).softmax(-1) @ v, self.cache


def closure():
    step = Step()

    def call(tokens):
        return step(tokens)

    return call


def told_its_start():
    """It is told how many tokens are cached, and counts nothing itself."""
    step = Step()

    def call(x, start_pos):
        step.cached = start_pos
        return step(x)

    return call


def told_its_positions():
    step = Step()
    step.advance = lambda n: None

    def call(x, position_ids):
        step.positions = lambda n: position_ids
        return step(x)

    return call


@pytest.mark.parametrize(
    "make", [Step, Module, Module(8), closure, Table, Two, told_its_start, told_its_positions]
)
def test_right_forms_pass(make):
    report = check_cache(make, call="x" if make is closure else None)
    assert len(asked(report)) == 11, str(report)


def test_another_width_is_right():
    assert len(asked(check_cache(Module, d_model=2))) == 11


def test_a_step_of_little_room_is_asked_for_no_more():
    class Small(Table):
        """Room for 64 tokens."""

        def positions(self, n):
            if self.cached + n > 64:
                raise IndexError("the table has 64 rows")
            return super().positions(n)

    assert len(asked(check_cache(Small, max_len=64))) == 11
    assert {found.name for found in check_cache(Small).failures} == {LATE, FAR}


class Functional(nn.Module):
    """Right, but its caller keeps the cache."""

    def __init__(self):
        super().__init__()
        self.weight = Step().weight

    def forward(self, x, past=None):
        step = past or Step()
        step.weight = self.weight
        return step(x), step


def remembering():
    module, kept = Functional(), [None]

    def step(x):
        y, kept[0] = module(x, kept[0])
        return y

    return step


@pytest.mark.parametrize("name", ["past", "past_key_values", "kv_cache", "layer_past", "state"])
def test_a_cache_that_the_caller_keeps_needs_a_factory(name):
    scope = {}
    exec(f"def step(x, {name}=None): return x, x", scope)
    for make, called in ((lambda: scope["step"], "step"), (Functional, "Functional")):
        handed = "past" if make is Functional else name
        report = check_cache(make)
        assert report.exit_code == 2
        assert report.unusable == (
            f"{called} is handed its cache as {handed}: give a factory instead, whose step "
            "remembers what came back and passes it on in its next call"
        )
    assert len(asked(check_cache(remembering))) == 11


class NotALeaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.doubled = 2 * nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x


def no_step():
    return None


def crash():
    raise OSError("no weights")


def stepping(step):
    def make():
        return lambda x: step(x)

    return make


@pytest.mark.parametrize(
    "make, text",
    [
        (crash, "crash() raised OSError: no weights"),
        (
            NotALeaf(),
            "copying NotALeaf raised RuntimeError: Only Tensors created explicitly by the user "
            "(graph leaves) support the deepcopy protocol at the moment.",
        ),
        (no_step, "no_step() must return a step to call, got NoneType"),
        (
            stepping(lambda x: x[:, :1]),
            "a step must return (B, T, width) like x, here (2, 5, 8), got a tensor of shape "
            "(2, 1, 8)",
        ),
        (
            stepping(lambda x: x * math.nan),
            "returned NaN at token 0, coordinate 0 (batch 0), expected nan",
        ),
        (stepping(lambda x: x.mul_(2)), "make() -> step(x) changes its argument x in place"),
        (stepping(lambda x: 1 / 0), "make() -> step(x) raised ZeroDivisionError: division by zero"),
        (
            lambda n_layers: None,
            "cannot tell what <lambda> takes as n_layers; say all of its arguments in order with "
            "call (--call), in these words, or as name=5: d_model",
        ),
    ],
)
def test_what_cannot_be_used_is_told_word_for_word(make, text):
    report = check_cache(make)
    told = report.unusable
    assert (told.startswith(text) if make.__class__ is NotALeaf else told == text)
    assert report.exit_code == 2


def test_a_wrong_option_is_refused():
    with raises_exactly(ValueError, "d_model must be positive, got 0"):
        check_cache(Step, d_model=0)
    with raises_exactly(ValueError, "max_len must be at least 32, got 31"):
        check_cache(Step, max_len=31)


@pytest.mark.parametrize("hardness", [0.3, 2, 5])
@pytest.mark.parametrize(
    "name",
    ["KV01 from 0", "KV01 queries from 0", "KV03 once more", "KV03 twice", "KV05 cached keys"]
    + ["MK01 upper left", "no cache", "a rolling cache", "KV01 one short"],
)
def test_the_cause_is_told_for_soft_and_for_hard_attention(name, hardness):
    """A softmax that is nearly a choice hides much of what a token depends on."""
    wrong, requirement, cause = WRONG[name]

    def make():
        step = wrong()
        step.weight = step.weight * hardness
        return step

    failed(check_cache(make), requirement, cause)


@pytest.mark.parametrize("hardness", [0.1, 1, 3, 10])
def test_a_right_cache_passes_for_soft_and_for_hard_attention(hardness):
    def make():
        step = Step()
        step.weight = step.weight * hardness
        return step

    assert len(asked(check_cache(make))) == 11
