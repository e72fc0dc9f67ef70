"""What the tests of a contract ask of its reports."""


def assert_fails(report, requirement: str, cause: str) -> None:
    """The first failing requirement is this one; cause "" means that none is told."""
    assert report.failures, report
    first = report.failures[0]
    assert first.name == requirement, report
    assert first.cause.startswith(cause) if cause else first.cause == "", report


def failed_names(reports) -> set[str]:
    return {entry.name for report in reports for entry in report.failures}


def asked_names(reports) -> set[str]:
    """All requirements that were asked at least once."""
    return {
        entry.name for report in reports for entry in report.requirements if entry.status != "skip"
    }
