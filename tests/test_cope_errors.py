"""What cope_positions, cope_bias and CoPE refuse, word for word."""

import pytest
import torch

from snippets.cope import CoPE, cope_bias, cope_positions
from tests.exact import raises_exactly

GOOD = {
    "q": torch.ones(2, 3, 4, 6),
    "logits": torch.ones(2, 3, 4, 5),
    "embedding": torch.ones(7, 6),
    "mask": torch.ones(4, 5, dtype=torch.bool),
}


def call(**replaced):
    return cope_bias(**(GOOD | replaced))


@pytest.mark.parametrize("name", "bool int64 complex64".split())
def test_tensors_that_are_not_floating_point_are_refused(name):
    dtype = getattr(torch, name)
    with raises_exactly(TypeError, f"gates must be floating point, got torch.{name}"):
        cope_positions(torch.ones(4).to(dtype))
    for argument in ("q", "logits", "embedding"):
        with raises_exactly(TypeError, f"{argument} must be floating point, got torch.{name}"):
            call(**{argument: GOOD[argument].to(dtype)})


WRONG = [
    {"q": [3, 4, 6]}, {"logits": [3, 4, 5]}, {"embedding": [6]}, {"embedding": [3, 7, 6]},
    {"q": [1, 3, 4, 6]}, {"q": [2, 1, 4, 6]}, {"q": [2, 3, 5, 6]}, {"q": [2, 3, 4, 1]},
    {"embedding": [7, 5]}, {"logits": [2, 3, 1, 5]},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_ranks_and_sizes_that_do_not_fit_are_refused(wrong):
    shapes = {name: list(GOOD[name].shape) for name in ("q", "logits", "embedding")} | wrong
    text = (
        "q, logits and embedding must be [B, H, Tq, D], [B, H, Tq, Tk] and [N, D], "
        f"got {shapes['q']}, {shapes['logits']} and {shapes['embedding']}"
    )
    with raises_exactly(ValueError, text):
        call(**{name: torch.ones(shape) for name, shape in wrong.items()})


@pytest.mark.parametrize("name", ["float32", "int64"])
def test_a_mask_that_is_not_bool_is_refused(name):
    with raises_exactly(TypeError, f"mask must be bool, got torch.{name}"):
        call(mask=GOOD["mask"].to(getattr(torch, name)))


@pytest.mark.parametrize(
    "shape", [[4, 6], [5, 4], [3, 5], [3, 3, 4, 5], [2, 2, 4, 5], [1, 2, 3, 4, 5]]
)
def test_a_mask_of_another_size_is_refused(shape):
    text = f"mask must broadcast to [B, H, Tq, Tk] = [2, 3, 4, 5], got {shape}"
    with raises_exactly(ValueError, text):
        call(mask=torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("sizes", [(0, 4), (6, 0), (-1, 4)])
def test_a_size_below_one_is_refused(sizes):
    text = f"head_dim and n_positions must be positive, got {sizes[0]} and {sizes[1]}"
    with raises_exactly(ValueError, text):
        CoPE(*sizes)


def test_the_mask_is_given_by_name():
    with pytest.raises(TypeError, match="positional argument"):
        cope_bias(*GOOD.values())


def test_the_smallest_sizes_are_taken():
    q, logits = torch.ones(2, 3, 4, 1), torch.ones(2, 3, 4, 5)
    assert not CoPE(1, 1)(q, logits).any()
