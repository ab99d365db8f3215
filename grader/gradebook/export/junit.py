"""Write results as JUnit XML, which CI systems display: one suite per student, one case per exercise."""

import re
from xml.etree import ElementTree

from grader.course.feedback import ClassResult, Feedback, SubmissionResult
from grader.report import words
from grader.report.hold_back import as_told
from grader.report.plain_text import clean, comment_lines, one_line, points, without_code_marks
from grader.report.text import feedback_text

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: ClassResult) -> str:
    """Return a `testsuites` document that the readers of Jenkins, GitLab and GitHub accept."""
    root = ElementTree.Element("testsuites", name="hanstep")
    for submission in result.submissions:
        root.append(_suite(as_told(submission, result.repair)))
    _count(root, [f for s in result.submissions for f in s.feedbacks])
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _suite(submission: SubmissionResult) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_xml(one_line(submission.student)))
    _count(suite, submission.feedbacks)
    properties = ElementTree.SubElement(suite, "properties")
    mark = submission.mark
    values = {"score": points(submission.score), "max_score": points(submission.max_score)}
    if mark is not None:
        score = "excused" if mark.score is None else points(mark.score)
        values |= {"mark": score, "max_mark": points(mark.max_score)}
        values |= {f"reason.{number}": reason for number, reason in enumerate(mark.reasons, start=1)}
    if submission.awaits_mark:
        values |= {"mark": "ungraded", "reason.1": words.no_mark_yet(submission)}
    said = comment_lines(submission.comments)
    values |= {f"comment.{number}": line for number, line in enumerate(said, start=1)}
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=_xml(value))
    for feedback in submission.feedbacks:
        suite.append(_case(feedback))
    return suite


def _case(feedback: Feedback) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        name=f"{feedback.exercise} ({points(feedback.score)}/{points(feedback.max_score)})",
        classname=f"hanstep.{feedback.lesson}",
        time=f"{feedback.seconds:.3f}",
    )
    if feedback.status == "missing":
        ElementTree.SubElement(case, "skipped", message=_xml(without_code_marks(feedback.message)))
    elif feedback.status != "passed":
        kind = "failure" if feedback.status == "failed" else "error"
        problem = ElementTree.SubElement(
            case, kind, message=_xml(without_code_marks(feedback.message)), type=feedback.status
        )
        problem.text = _xml(clean(feedback_text(feedback), 10_000))
    return case


def _count(element: ElementTree.Element, feedbacks: "list[Feedback] | tuple[Feedback, ...]") -> None:
    statuses = [f.status for f in feedbacks]
    wrong, missing = statuses.count("failed"), statuses.count("missing")
    element.set("tests", str(len(statuses)))
    element.set("failures", str(wrong))
    element.set("errors", str(len(statuses) - wrong - missing - statuses.count("passed")))
    if element.tag == "testsuite":  # `testsuites` has no such attribute
        element.set("skipped", str(missing))
    element.set("time", f"{sum(f.seconds for f in feedbacks):.3f}")


def _xml(text: str) -> str:
    """Replace characters that XML cannot contain, not even escaped."""
    return _NO_XML.sub("\ufffd", text)
