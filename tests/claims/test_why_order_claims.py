"""The sentences of docs/why-order.md, in the order of the page."""

import pytest
import torch

from posenc_check import oracles
from snippets.alibi import alibi_bias, alibi_slopes
from snippets.attention import attention
from snippets.masks import causal_mask
from snippets.rope import apply_rope, rope_inv_freq
from snippets.sinusoidal import sinusoidal_table
from tests.guard.marks import claim

HERE, ORDER = torch.arange(6), torch.tensor([2, 0, 5, 1, 3, 4])
PREFIX = torch.tensor([3, 0, 4, 1, 2, 5])  # the last token keeps its place


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def model(x, layers=1, mask=None, bias=None, rope=False):
    """Residual layers of one-head self-attention with fixed random weights; x is (B, T, 8)."""
    for w_q, w_k, w_v in random(layers, 3, 8, 8, seed=1) / 8**0.5:
        q, k, v = ((x @ w)[:, None] for w in (w_q, w_k, w_v))
        if rope:
            q, k = (apply_rope(t, HERE, rope_inv_freq(8)) for t in (q, k))
        x = x + attention(q, k, v, mask=mask, bias=bias)[:, 0]
    return x


def deviation(**options):
    """How far the model is from treating a permutation of x as one of its outputs."""
    x = random(2, 6, 8)
    return (model(x[:, ORDER], **options) - model(x, **options)[:, ORDER]).abs().max().item()


@claim(
    "why-order-equivariant",
    "Permute the inputs, and the outputs are the same vectors in the permuted order, up to rounding.",
)
def test_equivariance():
    assert deviation() < 1e-12  # float64 sums in another order
    q, k, v = random(3, 1, 2, 4, 6)
    torch.testing.assert_close(
        attention(q, k, v), oracles.attention(q, k, v), rtol=0, atol=1e-12
    )


@claim(
    "why-order-not-invariant",
    "It is not invariance: the list of outputs does change, since each output follows its token.",
)
def test_no_invariance():
    x = random(2, 6, 8)
    q = k = v = x[:, None]
    moved = x[:, None, ORDER]
    assert (attention(moved, moved, moved) - attention(q, k, v)).abs().max() > 1


@claim(
    "why-order-no-first",
    "Follow one token while the order changes: its output stays the same.",
)
def test_a_token_has_one_output_at_every_place():
    others, token = random(1, 5, 8), random(1, 1, 8, seed=2)
    seen = [model(torch.cat((others[:, :i], token, others[:, i:]), 1))[:, i] for i in range(6)]
    for output in seen[1:]:
        torch.testing.assert_close(output, seen[0], rtol=0, atol=1e-12)
    assert (seen[0] - token[:, 0]).abs().max() > 0.1  # the others do take part


WORDS = {"the": 0, "dog": 1, "chased": 2, "cat": 3}


def sentence_vectors(positions):
    """Mean-pooled outputs of the two sentences."""
    embeddings = random(4, 8)
    for sentence in ("the dog chased the cat", "the cat chased the dog"):
        x = embeddings[[WORDS[w] for w in sentence.split()]][None]
        yield model(x + sinusoidal_table(HERE[:5], 8) if positions else x).mean(1)


@claim(
    "why-order-bag-of-words",
    "Without positions the two sentences get the same vector, up to rounding.",
)
def test_two_sentences_are_one_bag_of_words():
    dog, cat = sentence_vectors(positions=False)
    torch.testing.assert_close(dog, cat, rtol=0, atol=1e-12)
    # ... and not because the model ignores its words: another word gives another vector.
    x = random(4, 8)[[0, 1, 2, 0, 1]][None]
    expected = x + oracles.attention(*((x @ w)[:, None] for w in random(1, 3, 8, 8, seed=1)[0] / 8**0.5))[:, 0]
    torch.testing.assert_close(model(x), expected, rtol=0, atol=1e-12)
    assert (x.mean(1) - dog).abs().max() > 0.1


@claim(
    "why-order-two-sentences",
    "Add a row for each position to the embeddings, and the two vectors differ.",
)
def test_positions_tell_the_sentences_apart():
    dog, cat = sentence_vectors(positions=True)
    assert (dog - cat).abs().max() > 1e-3


@claim(
    "why-order-at-the-input",
    "A vector for each position, added to the embedding, breaks the symmetry.",
)
def test_a_vector_at_the_input_breaks_the_symmetry():
    x, rows = random(2, 6, 8), sinusoidal_table(HERE, 8)
    assert (model(x[:, ORDER] + rows) - model(x + rows)[:, ORDER]).abs().max() > 0.1


@claim(
    "why-order-in-the-interaction",
    "A bias that depends on the gap, or a rotation of queries and keys, breaks it too, while the inputs "
    "carry no position at all.",
)
def test_bias_and_rotation_break_the_symmetry():
    assert deviation(bias=alibi_bias(HERE, HERE, alibi_slopes(2)[:1])) > 0.01
    assert deviation(rope=True) > 0.01


@claim(
    "why-order-row-constant",
    "One kind of bias cannot help: a bias that is the same for all keys of a query does nothing, since the "
    "softmax removes what all logits of a row share.",
)
def test_a_bias_constant_along_a_row_does_nothing():
    q, k, v = random(3, 2, 3, 6, 8)
    constant = random(2, 3, 6, 1, seed=5)
    torch.testing.assert_close(
        attention(q, k, v, bias=constant), attention(q, k, v), rtol=0, atol=1e-12
    )
    varying = random(2, 3, 1, 6, seed=5)
    assert (attention(q, k, v, bias=varying) - attention(q, k, v)).abs().max() > 0.1




@claim(
    "why-order-causal-mask",
    "Different places see different sets, so permuting the inputs no longer permutes the outputs.",
)
def test_a_causal_mask_breaks_the_symmetry():
    assert causal_mask(HERE, HERE).tolist() == [[k <= q for k in range(6)] for q in range(6)]
    assert deviation(mask=causal_mask(HERE, HERE)) > 0.1


def last_token_moves_by(layers, mask):
    x = random(2, 6, 8)
    difference = model(x[:, PREFIX], layers, mask) - model(x, layers, mask)
    return difference[:, -1].abs().max().item()


@claim(
    "why-order-one-causal-layer",
    "After one causal layer its output does not change, up to rounding: a bag of tokens has no order.",
)
def test_one_causal_layer_cannot_see_the_order_of_the_prefix():
    mask = causal_mask(HERE, HERE)
    assert last_token_moves_by(1, mask) < 1e-12
    other = random(2, 6, 8, seed=9)
    other[:, -1] = random(2, 6, 8)[:, -1]
    moved = (model(other, 1, mask) - model(random(2, 6, 8), 1, mask))[:, -1]
    assert moved.abs().max() > 0.1  # it does see which tokens there are


@claim(
    "why-order-two-causal-layers",
    "After two layers it does, because the tokens of the prefix have themselves seen different sets.",
)
def test_two_causal_layers_can():
    assert last_token_moves_by(2, causal_mask(HERE, HERE)) > 0.01


@claim(
    "why-order-depth-without-mask",
    "Without a mask, depth does not help: any number of layers stays blind to the order of the prefix.",
)
@pytest.mark.parametrize("layers", [2, 3, 6])
def test_depth_does_not_help_without_a_mask(layers):
    assert last_token_moves_by(layers, None) < 1e-10  # rounding grows with the depth
