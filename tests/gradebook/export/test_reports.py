"""JUnit XML, GitHub's summary and notices, Gradescope's results: as each is documented."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from grader.course.feedback import ClassResult
from grader.gradebook.export.github import classroom_notices, step_summary
from grader.gradebook.export.junit import junit_xml
from grader.gradebook.marking import Rules, marked
from grader.gradebook.overrides import Override
from grader.gradebook.policy import Policy
from grader.report.write_report import gradebook_csv, gradescope, write_report
from tests.gradebook import graded
from tests.report import samples

SCHEMA = json.loads((Path(__file__).parent / "gradescope.schema.json").read_text(encoding="utf-8"))


def final() -> ClassResult:
    by_hand = (Override(2, "20240001", "train", 9.5, "재채점 <b>|`x`"),)
    return marked(graded.a_class(), Rules(Policy(), by_hand), graded.KNOWN)


# ---- Gradescope --------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [samples.small_class(), graded.a_class(), final()])
def test_gradescope_results_fit_the_documented_schema(result: ClassResult) -> None:
    for submission in result.submissions:
        jsonschema.validate(gradescope(submission), SCHEMA)


def test_the_schema_refuses_what_is_not_documented() -> None:
    for wrong in ({}, {"score": "3"}, {"score": 1, "max_score": 2}, {"tests": [{"status": "ok"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_gradescope_shows_the_mark_and_its_reason() -> None:
    document = gradescope(final().submissions[0])
    assert document["score"] == 19.5
    assert "최종 점수: 19.5 / 20" in document["output"]
    assert "재채점" in document["output"]


# ---- every output ------------------------------------------------------------------------------------


def test_a_mark_by_hand_is_shown_in_every_output(tmp_path: Path) -> None:
    result = final()
    write_report(tmp_path, result, samples.course())
    page = (tmp_path / "feedback" / "20240001_김하늘.html").read_text(encoding="utf-8")
    assert "최종 점수 19.5 / 20점" in page
    assert "재채점 &lt;b&gt;" in page
    for text in (
        (tmp_path / "results.json").read_text(encoding="utf-8"),
        gradebook_csv(result, samples.course()),
        (tmp_path / "gradescope" / "20240001_김하늘" / "results.json").read_text(encoding="utf-8"),
        junit_xml(result),
        step_summary(result),
    ):
        assert "19.5" in text
        assert "재채점" in text


def test_a_class_without_roster_and_policy_has_the_gradebook_it_had() -> None:
    plain = replace(graded.a_class(), absent=(), submissions=(graded.student("s", (4, 6, 10)),))
    assert "최종" not in gradebook_csv(plain, samples.course())
    assert (
        gradebook_csv(final(), samples.course())
        .splitlines()[0]
        .endswith('"최종 점수","최종 만점","최종 점수의 까닭"')
    )


# ---- JUnit -------------------------------------------------------------------------------------------

ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "properties": set(),
    "property": {"name", "value"},
}
"""What Jenkins' junit-10.xsd knows of these elements."""
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "testcase": {"failure", "error", "skipped"},
    "properties": {"property"},
}


@pytest.mark.parametrize("result", [samples.small_class(), graded.a_class(), final()])
def test_junit_is_well_formed_and_counts_right(result: ClassResult) -> None:
    root = ElementTree.fromstring(junit_xml(result).encode("utf-8", "replace"))
    for element in root.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag], element.tag
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        for kind, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert len(suite.findall(f"testcase/{kind}")) == int(suite.attrib[count])
    for count in ("tests", "failures", "errors"):
        assert int(root.attrib[count]) == sum(int(suite.attrib[count]) for suite in root)


# ---- GitHub ------------------------------------------------------------------------------------------


def test_the_summary_of_a_class_is_one_table_whatever_names_hold() -> None:
    hostile = replace(final().submissions[0], student="a|b\n<img src=x> [l](http://x) `c`")
    lines = step_summary(replace(final(), submissions=(hostile, *final().submissions))).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 4
    for line in table:
        assert len(re.findall(r"(?<!\\)\|", line)) == 5
    assert "<img" not in "\n".join(lines).replace("\\<", "")


def test_the_summary_of_one_student_names_each_exercise() -> None:
    text = step_summary(replace(final(), submissions=final().submissions[:1]))
    assert text.startswith("## 19.5/20점")
    assert all(f"`{exercise}`" in text for exercise in graded.EXERCISES)


def test_a_summary_stays_below_githubs_limit() -> None:
    many = replace(final(), submissions=final().submissions * 2000)
    text = step_summary(many)
    assert len(text.encode()) < 2**20
    assert "명이 더 있어요" in text


def test_classroom_finds_the_points_where_its_own_reporter_puts_them() -> None:
    """`notify-classroom.js`: a notice titled Autograding report that holds totalPoints and maxPoints as JSON.

    Classroom shows whole numbers only; a point that is not reached is not given by rounding.
    """
    first, second = classroom_notices(replace(final(), submissions=final().submissions[:1])).splitlines()
    assert first == "::notice title=Autograding complete::Points 19/20"
    assert json.loads(second.removeprefix("::notice title=Autograding report::")) == {
        "totalPoints": 19,
        "maxPoints": 20,
    }
