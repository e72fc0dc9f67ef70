"""Disentangled attention against a loop over single pairs, then what follows from it."""

import pytest
import torch

from posenc_check import relative
from snippets.attention import attention
from snippets.deberta import deberta_attention, deberta_scores

B, H, TQ, TK, D, DV, REACH = 2, 3, 5, 7, 6, 9, 4
Q_POSITIONS, K_POSITIONS = torch.tensor([31, 40, 36, 33, 52]), torch.arange(30, 37)
MASK = torch.ones(TQ, TK, dtype=torch.bool).tril(2)
RULES = [
    {"max_distance": distance, "order": order}
    for distance in (None, 7, 16)
    for order in ("paper", "released")
]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda r: " ".join(map(str, r.values())))


def generic(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)


def inputs(dtype=torch.float64, reach=REACH, **replaced):
    """Everything that the function takes, with sizes that all differ."""
    shapes = {
        "q": (B, H, TQ, D), "k": (B, H, TK, D), "v": (B, H, TK, DV),
        "key_table": (H, 2 * reach, D), "query_table": (H, 2 * reach, D),
    }
    tensors = {n: generic(*s, seed=i, dtype=dtype) for i, (n, s) in enumerate(shapes.items())}
    return tensors | {"q_positions": Q_POSITIONS, "k_positions": K_POSITIONS} | replaced


def without_values(tensors):
    return {n: t for n, t in tensors.items() if n != "v"}


def oracle(tensors, mask=None, **rule):
    names = "q k v q_positions k_positions key_table query_table".split()
    return relative.deberta(*(tensors[n] for n in names), mask=mask, **rule)


def assert_close(got, want):
    # float64 sums of six products and seven weights of numbers below 10.
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@every_rule
@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "masked"])
def test_every_output_follows_the_equation(rule, mask):
    tensors = inputs()
    assert_close(deberta_attention(**tensors, **rule, mask=mask), oracle(tensors, mask, **rule))


@pytest.mark.parametrize("reach", [1, 2, 3, 30])
def test_tables_of_any_even_number_of_rows_clip_at_their_end(reach):
    tensors = inputs(reach=reach)
    assert_close(deberta_attention(**tensors), oracle(tensors))


@every_rule
def test_each_term_follows_its_part_of_the_equation(rule):
    tensors = without_values(inputs())
    got, want = deberta_scores(**tensors, **rule), relative.deberta_terms(**tensors, **rule)
    for one, other in zip(got, want, strict=True):
        assert one.shape == (B, H, TQ, TK)
        assert_close(one, other)


def test_without_a_word_the_paper_is_followed_and_lags_are_clipped():
    tensors = inputs()
    plain = deberta_attention(**tensors)
    assert torch.equal(plain, deberta_attention(**tensors, max_distance=None, order="paper"))
    for rule in RULES[1:]:
        assert (deberta_attention(**tensors, **rule) - plain).abs().max() > 0.1


def test_a_key_reads_the_row_of_its_own_view():
    """One query at 20, keys at 19, 20 and 21, and a table in which row r holds r."""
    one = {"q": torch.zeros(1, 1, 1, 1), "k": torch.ones(1, 1, 3, 1)}
    table = {"key_table": torch.zeros(1, 8, 1), "query_table": torch.arange(8.0).view(1, 8, 1)}
    positions = {"q_positions": torch.tensor([20]), "k_positions": torch.tensor([19, 20, 21])}
    p2c = deberta_scores(**one, **table, **positions)[2]
    assert p2c.flatten().tolist() == [3, 4, 5]  # delta(j, i): the key at 19 is one behind the query
    p2c = deberta_scores(**one, **table, **positions, order="released")[2]
    assert p2c.flatten().tolist() == [5, 4, 3]
    one = {"q": torch.ones(1, 1, 1, 1), "k": torch.ones(1, 1, 3, 1)}
    table = {"key_table": table["query_table"], "query_table": table["key_table"]}
    c2p = deberta_scores(**one, **table, **positions)[1]
    assert c2p.flatten().tolist() == [5, 4, 3]


def test_a_mirrored_table_turns_the_released_order_into_that_of_the_paper():
    """While no lag is clipped, row 2k - r of one is row r of the other; row 0 stays unused."""
    near = {"q_positions": K_POSITIONS[1:6]}
    tensors = inputs(reach=8, **near)
    mirrored = tensors["query_table"].clone()
    mirrored[:, 1:] = mirrored[:, 1:].flip(1)
    got = deberta_attention(**tensors | {"query_table": mirrored}, order="released")
    assert_close(got, deberta_attention(**tensors))


@every_rule
def test_only_differences_of_positions_count(rule):
    tensors = inputs()
    moved = {n: tensors[n] + 10**9 for n in ("q_positions", "k_positions")}
    plain = deberta_attention(**tensors, **rule)
    assert torch.equal(deberta_attention(**tensors | moved, **rule), plain)
    swapped = {"q_positions": 60 - Q_POSITIONS, "k_positions": 60 - K_POSITIONS}
    other = deberta_attention(**tensors | swapped, **rule)
    assert (other - plain).abs().max() > 0.1  # left is not right


def test_with_empty_tables_it_is_attention_at_a_higher_temperature():
    tensors = inputs()
    zeros = {n: torch.zeros_like(tensors[n]) for n in ("key_table", "query_table")}
    want = attention(tensors["q"] / 3**0.5, tensors["k"], tensors["v"])
    assert_close(deberta_attention(**tensors | zeros), want)


def test_far_keys_cannot_be_told_apart_by_position():
    far = {"k_positions": torch.tensor([31, 20, 10, 0, -50, 26, 25])}  # seen from 31: lags 0 to 81
    for reach, distance, alike in ((REACH, None, True), (32, 128, False)):
        tensors = without_values(inputs(reach=reach, **far))
        tensors["k"] = tensors["k"][:, :, :1].expand(B, H, TK, D)  # one content everywhere
        for term in deberta_scores(**tensors, max_distance=distance)[1:]:
            spread = term[:, :, 0, 1:].std(-1)
            assert spread.max() < 1e-12 if alike else spread.min() > 0.1


def test_decoding_slices_equal_the_full_pass():
    tensors = inputs()
    full = deberta_attention(**tensors, max_distance=16)
    for i in range(TQ):
        step = {"q": tensors["q"][:, :, i : i + 1], "q_positions": Q_POSITIONS[i : i + 1]}
        got = deberta_attention(**tensors | step, max_distance=16)
        assert_close(got[:, :, 0], full[:, :, i])


def test_a_mask_may_differ_between_sequences_and_heads():
    tensors, mask = inputs(), generic(B, H, TQ, TK, seed=9) > -0.5
    mask[..., 0] = True
    assert_close(deberta_attention(**tensors, mask=mask), oracle(tensors, mask))


@pytest.mark.parametrize("name, atol", [("bfloat16", 0.15), ("float16", 0.02), ("float32", 1e-5)])
def test_the_output_has_the_dtype_of_the_input(name, atol):
    tensors = inputs(dtype=getattr(torch, name))
    got = deberta_attention(**tensors)
    assert got.dtype == getattr(torch, name)
    # Logits below 10 are rounded a few times, and so are values below 5.
    torch.testing.assert_close(got.double(), oracle(tensors), rtol=0, atol=atol)


def test_layouts_in_memory_do_not_matter():
    tensors = inputs()
    strided = {n: t.mT.contiguous().mT for n, t in tensors.items() if t.ndim > 1}
    assert not strided["q"].is_contiguous()
    assert_close(deberta_attention(**tensors | strided), deberta_attention(**tensors))


@every_rule
def test_every_tensor_gets_its_gradient_and_tables_in_the_rows_in_use(rule):
    names = "q k v key_table query_table".split()
    tensors = inputs(q_positions=torch.arange(32, 37))  # lags -4 to 6, without a key at 6 ahead
    points = tuple(tensors[n].requires_grad_() for n in names)

    def attend(*points):
        return deberta_attention(**tensors | dict(zip(names, points)), **rule, mask=causal)

    causal = K_POSITIONS <= tensors["q_positions"][:, None]
    assert torch.autograd.gradcheck(attend, points)
    *others, keys, queries = torch.autograd.grad(attend(*points).square().sum(), points)
    assert all(gradient.abs().max() > 0.01 for gradient in others)
    ahead = [False] * 4 + [True] * 4  # delta(i, j) of keys at or before the query
    clipped = rule["max_distance"] is None  # the log scale puts a lag of 6 at 3, and -3 + 4 is 1
    behind = [clipped] + [True] * 4 + [False] * 3
    assert (keys.abs().sum((0, 2)) > 0).tolist() == ahead
    used = {"paper": behind, "released": ahead}[rule["order"]]
    assert (queries.abs().sum((0, 2)) > 0).tolist() == used


@pytest.mark.parametrize("name", "uint8 uint16 int8 int16 int32".split())
def test_positions_of_any_integer_dtype_do_not_wrap_around(name):
    small = {"q_positions": torch.tensor([3, 100, 5, 9, 34]), "k_positions": torch.arange(30, 37)}
    got = deberta_attention(**inputs(**{n: p.to(getattr(torch, name)) for n, p in small.items()}))
    assert torch.equal(got, deberta_attention(**inputs(**small)))
