"""Every built page in a real browser: sound, light and accessible."""

import pytest

from tests.site.problems import axe_problems, page_problems, weight_problems


def report(visit, problems) -> str:
    return f"{visit}:\n" + "\n".join(f"  - {problem}" for problem in problems)


def test_page_is_sound(visited, address, width):
    visit = visited(address, width)
    problems = page_problems(visit)
    assert not problems, report(visit, problems)


def test_page_is_light(visited, address, record_property):
    visit = visited(address, 1360)
    record_property("kib_gzipped", round(sum(visit.weights.values()) / 1024, 1))
    problems = weight_problems(visit)
    assert not problems, report(visit, problems)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("axe_width", [1360, 390])
def test_page_is_accessible(visited, address, axe_width, scheme):
    visit = visited(address, axe_width)
    problems = axe_problems(visit, scheme)
    assert not problems, report(visit, problems)
