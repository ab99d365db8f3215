"""What results have in common is one object, and they say what they said before."""

import pickle
from dataclasses import replace

from grader.classroom.journal import SharedParts
from tests.report import samples


def test_equal_parts_are_one_object_and_results_stay_equal() -> None:
    alike = SharedParts()
    results = [samples.typical("kim"), samples.passed_all("lee"), samples.typical("park")]
    # As they come from workers, each with parts of its own.
    kept = [alike(pickle.loads(pickle.dumps(result))) for result in results]
    assert kept == results
    for one, other in zip(kept[0].feedbacks, kept[2].feedbacks, strict=True):
        assert one.checks is other.checks
        assert one.diagnosis is other.diagnosis
        assert one.seconds or one is other


def test_times_stay_each_ones_own() -> None:
    alike, result = SharedParts(), samples.passed_all("lee")
    slower = replace(result, feedbacks=tuple(replace(f, seconds=f.seconds + 1) for f in result.feedbacks))
    kept = alike(result), alike(slower)
    assert kept == (result, slower)
    assert kept[0].feedbacks[0].checks is kept[1].feedbacks[0].checks
