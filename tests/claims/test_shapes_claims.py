"""The sentences of docs/guides/shapes.md, in the order of the page."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from posenc_check import oracles
from snippets.rope import apply_rope, rope_inv_freq
from snippets.sinusoidal import SinusoidalPositionEncoding, sinusoidal_table
from tests.guard.marks import claim

DOCS = Path(__file__).parents[2] / "docs"


def encoding(d_model=6, max_len=9, dropout=0.0, **options):
    return SinusoidalPositionEncoding(d_model, max_len, dropout, **options)


@claim(
    "shapes-input",
    "Two axes, four axes or another width get a ValueError that begins with Expected [batch, sequence, "
    "d_model].",
)
@pytest.mark.parametrize("shape", [(5, 6), (1, 2, 5, 6), (2, 5, 7), (2, 6, 5)])
def test_other_shapes_are_refused(shape):
    message = f"Expected [batch, sequence, d_model] with d_model=6, got {list(shape)}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        encoding()(torch.zeros(shape))


@claim(
    "shapes-width-one",
    "An input of width one is the dangerous case: without the check it would broadcast against the table in "
    "silence.",
)
def test_a_width_of_one_would_broadcast():
    thin, module = torch.zeros(2, 5, 1), encoding()
    assert (thin + module.pe[:, :5]).shape == (2, 5, 6)
    with pytest.raises(ValueError, match=r"^Expected \[batch, sequence, d_model\]"):
        module(thin)


@claim("shapes-integer-input", "Integer input gets a TypeError.")
def test_integer_input_is_refused():
    with pytest.raises(TypeError, match="^x must be floating point, got torch.int64$"):
        encoding()(torch.zeros(2, 5, 6, dtype=torch.int64))


@claim(
    "shapes-odd-width",
    "An odd width has room for one cosine less, so the last pair keeps its sine only; every width from "
    "one upwards works.",
)
def test_every_width_works():
    for d_model in range(1, 20):
        table = encoding(d_model).pe[0].double()
        # 2**-24: the rounding to float32 of numbers up to 1.
        torch.testing.assert_close(
            table, oracles.sinusoid_table(range(9), d_model), rtol=0, atol=2**-24
        )


@claim("shapes-buffer", "The table gets a first axis of size one.")
@pytest.mark.parametrize("d_model, max_len", [(6, 9), (7, 4), (1, 1)])
def test_shape_of_the_buffer(d_model, max_len):
    assert encoding(d_model, max_len).pe.shape == (1, max_len, d_model)


@claim(
    "shapes-broadcast",
    "That axis broadcasts over the batch: every sequence receives the same rows.",
)
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_every_sequence_receives_the_same_rows(batch):
    added = encoding()(torch.zeros(batch, 5, 6))
    expected = oracles.sinusoid_table(range(5), 6).float()
    assert added.shape == (batch, 5, 6)
    for rows in added:
        assert torch.equal(rows, expected)


@claim(
    "shapes-first-rows",
    "forward cuts the table to the length of the input, so the output is the input plus the first rows of "
    "the table.",
)
def test_the_first_rows_are_added():
    x = torch.randn(4, 5, 6)
    assert torch.equal(encoding()(x), x + oracles.sinusoid_table(range(5), 6).float())


def saved_and_loaded(module):
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@claim(
    "shapes-state-dict",
    "It is in the state dict under the name pe, and a saved table is loaded back.",
)
def test_the_table_is_saved_and_loaded():
    trained, twin = encoding(), encoding()
    twin.pe.zero_()
    assert list(trained.state_dict()) == ["pe"]
    twin.load_state_dict(saved_and_loaded(trained))
    assert torch.equal(twin.pe, trained.pe) and twin.pe.abs().sum() > 0


@claim(
    "shapes-moves",
    "It moves with the module: after .to(device) or .double() the table is where the module is.",
)
def test_the_table_moves_with_the_module():
    assert nn.Sequential(encoding()).to("meta")[0].pe.device.type == "meta"
    assert nn.Sequential(encoding()).double()[0].pe.dtype == torch.float64


@claim(
    "shapes-not-parameter",
    "It is no trainable parameter: the module has no parameters, and an optimiser step leaves the table "
    "as it was.",
)
def test_the_table_is_not_trained():
    model = nn.Sequential(nn.Linear(6, 6), encoding())
    before = model[1].pe.clone()
    assert list(model[1].parameters()) == []
    assert [name for name, _ in model[1].named_buffers()] == ["pe"]
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0, weight_decay=0.1)
    model(torch.randn(2, 5, 6)).square().sum().backward()
    optimiser.step()
    assert torch.equal(model[1].pe, before) and not model[1].pe.requires_grad


@claim(
    "shapes-autograd",
    "It does not turn off autograd: gradients flow through the addition to the input, and a loss that "
    "multiplies by the table has the table as its gradient with respect to the input.",
)
def test_gradients_flow():
    module, x = encoding(), torch.randn(3, 5, 6, requires_grad=True)
    (module(x) * module.pe[:, :5]).sum().backward()
    assert torch.equal(x.grad, module.pe[:, :5].expand(3, 5, 6))
    module.pe.requires_grad_(True)  # even the buffer takes part when asked to
    module(x).sum().backward()
    assert torch.equal(module.pe.grad[:, :5], torch.full((1, 5, 6), 3.0))  # once for each sequence


@claim(
    "shapes-look-alikes",
    "They differ in the state dict, under .to() and in parameters().",
)
def test_three_ways_to_hold_a_table():
    table = torch.ones(1, 9, 6)
    attribute, parameter, frozen = nn.Module(), nn.Module(), nn.Module()
    attribute.pe = table
    parameter.pe = nn.Parameter(table)
    frozen.pe = nn.Parameter(table, requires_grad=False)
    buffer = encoding()

    def seen(module):
        stored, count = "pe" in module.state_dict(), len(list(module.parameters()))
        return stored, module.to("meta").pe.is_meta, count

    assert seen(buffer) == (True, True, 0)
    assert seen(attribute) == (False, False, 0)
    assert seen(parameter) == seen(frozen) == (True, True, 1)


TOO_LONG = "^Sequence exceeds configured max_len: positions up to {} asked, 9 rows stored$"


@claim(
    "shapes-max-len",
    "One token more gets a ValueError that begins with Sequence exceeds configured max_len.",
)
def test_one_token_more_is_refused():
    assert encoding()(torch.zeros(2, 9, 6)).shape == (2, 9, 6)
    with pytest.raises(ValueError, match=TOO_LONG.format(9)):
        encoding()(torch.zeros(2, 10, 6))
    assert encoding()(torch.zeros(2, 4, 6), start=5).shape == (2, 4, 6)
    with pytest.raises(ValueError, match=TOO_LONG.format(9)):
        encoding()(torch.zeros(2, 4, 6), start=6)


@claim(
    "shapes-storage-limit",
    "This is a limit of what the module stores, not of the formula: the same row can be computed past the "
    "table.",
)
def test_the_formula_has_no_limit():
    with pytest.raises(ValueError, match=TOO_LONG.format(40)):
        encoding()(torch.zeros(1, 1, 6), start=40)
    row = sinusoidal_table(torch.tensor([40]), 6).double()
    torch.testing.assert_close(row, oracles.sinusoid_table([40], 6), rtol=0, atol=2**-24)


@claim(
    "shapes-positive",
    "A d_model or a max_len below one is refused when the module is built.",
)
@pytest.mark.parametrize("d_model, max_len", [(0, 1), (1, 0), (-1, 3), (3, -1)])
def test_sizes_below_one_are_refused(d_model, max_len):
    message = f"d_model and max_len must be positive, got d_model={d_model}, max_len={max_len}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        encoding(d_model, max_len)
    assert encoding(1, 1)(torch.zeros(1, 1, 1)).shape == (1, 1, 1)


@claim("shapes-defaults", "The defaults are max_len=5000 and dropout=0.1.")
def test_defaults():
    module = SinusoidalPositionEncoding(2)
    assert module.pe.shape == (1, 5000, 2) and module.dropout.p == 0.1


@claim(
    "shapes-output-dtype",
    "Shape and dtype are those of the input; the rows are cast to the input's dtype before the addition.",
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_output_is_like_the_input(dtype):
    module, x = encoding(), torch.randn(4, 5, 6, dtype=dtype)
    y = module(x)
    assert y.dtype == dtype and torch.equal(y, x + module.pe[:, :5].to(dtype))


@claim(
    "shapes-dropout",
    "In evaluation nothing is dropped; in training, with probability one half, about half of the sums are "
    "zero and the others are doubled.",
)
def test_dropout_follows_the_mode():
    torch.manual_seed(0)
    module, x = encoding(dropout=0.5), torch.randn(40, 5, 6)
    total = x + module.pe[:, :5]
    assert torch.equal(module.eval()(x), total)
    dropped = module.train()(x)
    kept = dropped != 0
    assert torch.equal(dropped[kept], 2 * total[kept])
    assert 0.4 < kept.float().mean() < 0.6  # 1200 draws: more than six standard deviations


def random_dropouts(block, monkeypatch):
    """Run a block; how often was something dropped at random, and how often passed on whole?"""
    dropped, whole = [], []
    plain = nn.Dropout.forward

    def watched(self, x):
        (dropped if self.training and self.p > 0 else whole).append(self)
        return plain(self, x)

    with monkeypatch.context() as patch:
        patch.setattr(nn.Dropout, "forward", watched)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, "block", "exec"), {})
    return len(dropped), len(whole)


@claim(
    "shapes-blocks-deterministic",
    "Deterministic checks switch it off with dropout=0.0 or .eval(), as the blocks on this site do "
    "wherever they compare values.",
)
def test_blocks_switch_dropout_off(monkeypatch):
    fence = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
    blocks = [b for page in DOCS.rglob("*.md") for b in fence.findall(page.read_text())]
    blocks = [b for b in blocks if "SinusoidalPositionEncoding" in b]
    assert len(blocks) >= 5
    for block in blocks:
        dropped, whole = random_dropouts(block, monkeypatch)
        # The block on dropout itself switches it on, and says so.
        assert dropped == 0 or "encode.train()" in block, block
        assert dropped + whole > 0 or "longer" in block, block
    # The sentence is about this switch: both ways give the same output twice.
    x = torch.randn(2, 5, 6)
    assert torch.equal(encoding(dropout=0.0)(x), encoding(dropout=0.5).eval()(x))


@claim(
    "shapes-rope-positions",
    "Its angles are (T, P), or (B, 1, T, P) when each sequence has its own positions; the axis of size "
    "one broadcasts over the heads.",
)
def test_rope_positions_for_each_sequence():
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    positions = torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]])  # the second row is padded
    together = apply_rope(x, positions, rope_inv_freq(8))
    for b in range(2):
        for h in range(3):
            alone = apply_rope(x[b : b + 1, h : h + 1], positions[b], rope_inv_freq(8))
            assert torch.equal(together[b, h], alone[0, 0])
    speeds = [oracles.rope_speed(i, 8) for i in range(4)]
    torch.testing.assert_close(
        together, oracles.rope(x, positions, speeds, "half"), rtol=0, atol=1e-12
    )
