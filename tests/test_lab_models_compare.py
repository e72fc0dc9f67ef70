"""When a second run is the same as the record, and when it is not."""

import pytest

from lab.models.compare import differing, same


@pytest.mark.parametrize(
    "a, b, equal",
    [
        (2.700, 2.710, True),  # within 0.5 %
        (2.700, 2.720, False),
        (0.0120, 0.0128, True),  # within 0.001
        (0.0120, 0.0140, False),
        (1e-7, 4e-6, True),  # rounding, of one size
        (1e-7, 4e-4, False),
        (0.0, 3e-16, True),
        (0.0, 0.0009, False),
        (1.0, -1.0, False),
        (512, 513, False),
        ("RuntimeError: x", "IndexError: x", False),
        ([1.0, 2.0], [1.0], False),
        ([1.0, 2.0], (1.0, 2.001), True),
        ({"loss": 1.0}, {"loss": 1.0, "kl": 0.0}, False),
        ({"accuracy": [0.5, 0.25]}, {"accuracy": [0.52, 0.25]}, True),
        ({"accuracy": [0.5, 0.25]}, {"accuracy": [0.53, 0.25]}, False),
        ({"same_first": 0.5}, {"same_first": 0.52}, True),
        ({"cosine": 0.5}, {"cosine": 0.52}, False),
    ],
)
def test_what_counts_as_the_same(a, b, equal):
    assert same(a, b) is equal and same(b, a) is equal


def test_what_is_compared_of_a_row():
    words = {"fault": "right", "tokens": [1, 2], "continuation": "a b"}
    assert not differing([words], [{**words, "tokens": [1, 3], "continuation": "a c"}])
    assert differing([words], [{**words, "fault": "no RoPE"}])
    half = {"text": "A", "dtype": "bfloat16", "kl": 0.1, "difference": [1.0]}
    assert not differing([half], [{**half, "kl": 0.2, "difference": [2.0]}])
    assert differing([half], [{**half, "text": "B"}])
    whole = {**half, "dtype": "float32"}
    assert len(differing([whole] * 3, [whole, {**whole, "kl": 0.2}, whole])) == 1
    assert differing([whole], []) == ["1 rows now, 0 in the record"]
