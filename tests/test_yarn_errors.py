"""What the three rules of YaRN refuse, word for word."""

import math

import pytest

from snippets.yarn import ntk_by_parts, yarn, yarn_mscale, yarn_paper
from tests.exact import raises_exactly

every_rule = pytest.mark.parametrize("rule", [ntk_by_parts, yarn_paper, yarn])


@every_rule
@pytest.mark.parametrize("value", [0, -2, 1, 7])
def test_a_head_dim_that_is_odd_or_below_two_is_refused(rule, value):
    with raises_exactly(ValueError, f"head_dim must be even and positive, got {value}"):
        rule(value, 4.0, 4096)


@every_rule
@pytest.mark.parametrize("value", [0.999, 0, -4.0, math.nan])
def test_a_factor_below_one_is_refused(rule, value):
    with raises_exactly(ValueError, f"factor must be at least 1, got {value}"):
        rule(8, value, 4096)


@every_rule
@pytest.mark.parametrize("value", [0.5, 0, -4096, math.nan])
def test_a_trained_length_below_one_is_refused(rule, value):
    with raises_exactly(ValueError, f"trained_length must be at least 1, got {value}"):
        rule(8, 4.0, value)


@every_rule
@pytest.mark.parametrize("value", [1, 1.0, 0.5, 0, -2.5, math.nan])
def test_a_base_of_one_or_less_is_refused(rule, value):
    with raises_exactly(ValueError, f"base must be larger than 1, got {value}"):
        rule(8, 4.0, 4096, base=value)


@every_rule
@pytest.mark.parametrize(
    "fast, slow", [(1.0, 1.0), (1, 32), (32.0, 0), (32.0, -1.0), (0.0, -1.0), (math.nan, 1.0),
                   (32.0, math.nan)],
)
def test_bounds_that_are_not_in_order_are_refused(rule, fast, slow):
    text = (
        "beta_fast must be larger than beta_slow, and that positive, "
        f"got beta_fast={fast}, beta_slow={slow}"
    )
    with raises_exactly(ValueError, text):
        rule(8, 4.0, 4096, beta_fast=fast, beta_slow=slow)


@pytest.mark.parametrize("value", [0, 0.0, -1.0, math.nan])
def test_an_attention_factor_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"attention_factor must be positive, got {value}"):
        yarn(8, 4.0, 4096, attention_factor=value)


@pytest.mark.parametrize("value", [0, -4.0, math.nan])
def test_mscale_of_a_factor_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"factor must be positive, got {value}"):
        yarn_mscale(value)


@every_rule
def test_the_options_are_given_by_name(rule):
    with pytest.raises(TypeError, match="positional argument"):
        rule(8, 4.0, 4096, 10_000.0)


@every_rule
def test_the_smallest_values_are_taken(rule):
    assert rule(2, 1, 1, base=1.001)[0].tolist() == [1.0]


@pytest.mark.parametrize("value", [0, -2.0, math.nan])
def test_a_factor_of_mscale_that_is_not_positive_is_refused(value):
    with raises_exactly(ValueError, f"factor must be positive, got {value}"):
        yarn_mscale(value)
