"""What the tests of contracts ask of a report."""


def failed(report, requirement: str, cause: str) -> set[str]:
    """The requirement failed and names this cause ("": none); gives all that failed."""
    assert not report.unusable, str(report)
    found = {entry.name: entry for entry in report.failures}
    assert requirement in found, str(report)
    told = found[requirement].cause
    assert told.startswith(cause) if cause else told == "", str(report)
    return set(found)


def passed(report) -> set[str]:
    """Nothing failed; gives all requirements, asked or not."""
    assert report.passed, str(report)
    return {entry.name for entry in report.requirements}


def asked(report) -> set[str]:
    return {entry.name for entry in report.requirements if entry.status == "pass"}
