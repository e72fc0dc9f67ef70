"""The lab's model with each method, against its formula, and under a cache."""

import pytest
import torch

from lab.methods import READINGS, TRAININGS
from lab.model import SmallModel
from tests import lab_formulas
from tests.decoding import EQUAL, WRONG, CachedAttention, difference, full_pass, in_chunks
from tests.methods import Method, generic

# Tables and biases are cast to float32, as in training: entries of size 1, rounded by 6e-8, and
# two layers that pass this on.
ROUNDED = 1e-5
PLACES = [2, 3, 5, 9, 30, 41]  # with gaps, so that a place and its number differ
SYMBOLS = 7


def model(name, seed=0, d_model=16, n_heads=2):
    torch.manual_seed(seed)
    found = SmallModel(SYMBOLS, TRAININGS[name].make, d_model=d_model, n_heads=n_heads).double()
    for parameter in found.method.parameters():  # learned ones begin too small to be seen
        parameter.data += 0.3 * torch.rand_like(parameter)
    return found


@torch.no_grad()
@pytest.mark.parametrize("name", TRAININGS)
def test_the_model_is_its_formula(name):
    found, tokens = model(name), torch.tensor([[0, 3, 6, 2, 2, 5], [1, 1, 4, 0, 5, 3]])
    got = found(tokens, torch.tensor(PLACES))
    want = lab_formulas.model(found, lab_formulas.FORMULAS[name], tokens, PLACES)
    assert difference(got, want) < ROUNDED
    # Another method's formula is far off.
    other = lab_formulas.FORMULAS["alibi" if name != "alibi" else "rope"]
    assert difference(lab_formulas.model(found, other, tokens, PLACES), want) > 100 * ROUNDED


def test_every_training_has_a_formula_and_every_reading_a_training():
    assert lab_formulas.FORMULAS.keys() == TRAININGS.keys()
    assert {reading.training for reading in READINGS.values()} == TRAININGS.keys()


@torch.no_grad()
@pytest.mark.parametrize("name", TRAININGS)
def test_no_logit_depends_on_a_later_token(name):
    found, tokens = model(name), torch.tensor([[0, 3, 6, 2, 2, 5]])
    changed = tokens.clone()
    changed[0, 4:] = 1
    a, b = (found(rows, torch.tensor(PLACES)) for rows in (tokens, changed))
    # Masked logits are minus infinity: their weights are 0 exactly.
    assert difference(a[:, :4], b[:, :4]) == 0
    assert difference(a[:, 4:], b[:, 4:]) > 1e-3


@torch.no_grad()
@pytest.mark.parametrize("name", TRAININGS)
def test_attention_with_a_cache_is_the_full_pass(name):
    method = model(name, d_model=24, n_heads=3).method  # heads of width 8, as in tests/decoding.py
    cached = CachedAttention(Method(method.turn, method.attend))
    positions = torch.arange(20, 30)
    q, k, v = (generic(2, 3, 10, 8, seed=seed) for seed in range(3))
    want = full_pass(Method(method.turn, method.attend), q, k, v, positions)
    assert difference(in_chunks(cached, q, k, v, positions), want) < EQUAL
    shifted = CachedAttention(Method(method.turn, method.attend), q_shift=1)
    got = in_chunks(shifted, q, k, v, positions)
    # One step more for all keys: the softmax cancels ALiBi's; the others' tables enter elsewhere.
    unchanged = name.startswith(("none", "sinusoidal", "learned", "drope", "alibi"))
    assert (difference(got, want) > WRONG) != unchanged


@torch.no_grad()
def test_embedding_methods_give_a_token_of_a_later_call_its_own_row():
    for name in ("sinusoidal", "learned"):
        method, x = model(name).method, torch.zeros(1, 6, 16, dtype=torch.float64)
        whole = method.embed(x, torch.tensor(PLACES))
        last = method.embed(x[:, 5:], torch.tensor(PLACES[5:]))
        assert torch.equal(whole[:, 5:], last) and difference(whole[:, :1], last) > WRONG


def test_models_of_one_seed_share_all_weights_but_the_method_s():
    plain = model("none").state_dict()
    for name in TRAININGS:
        own = {k: v for k, v in model(name).state_dict().items() if not k.startswith("method.")}
        assert own.keys() == plain.keys()
        assert all(torch.equal(own[k], plain[k]) for k in plain)
