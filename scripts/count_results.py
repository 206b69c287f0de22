"""Counts test cases: count_results.py <ctest's JUnit file> <folder of GoogleTest's XML files>

Prints "<passed> <failed>". An executable that wrote <name>.xml counts as the cases in it; any other
test, and one that failed without saying which case did (a crash, a leak, a timeout), as one.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def cases(path):
    """(passed, failed) of one GoogleTest file, or (0, 0) if it is not there or cut short."""
    try:
        suites = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return 0, 0
    ran = [case for case in suites.iter("testcase") if case.get("status") == "run"]
    ran = [case for case in ran if case.get("result") != "skipped"]
    failed = sum(1 for case in ran if case.find("failure") is not None)
    return len(ran) - failed, failed


def chose_to_skip(test):
    """True if the test said that what it needs is not there; not if it could not be run at all."""
    skipped = test.find("skipped")
    return skipped is not None and skipped.get("message", "").startswith("SKIP_RETURN_CODE")


def main():
    junit, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    passed = failed = 0
    for test in ElementTree.parse(junit).getroot().iter("testcase"):
        case_passed, case_failed = cases(folder / (test.get("name") + ".xml"))
        if test.get("status") == "run":
            case_passed = max(case_passed, 1 - case_failed)
        elif test.get("status") != "disabled" and not chose_to_skip(test):
            case_failed = max(case_failed, 1)
        passed += case_passed
        failed += case_failed
    print(passed, failed)


if __name__ == "__main__":
    main()
