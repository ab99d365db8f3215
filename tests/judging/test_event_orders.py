"""Which call is drawn as timelines, and which of its events have no counterpart."""

from dataclasses import replace

import numpy as np
import pytest

from grader.course.feedback import Moment
from grader.judging.event_orders import timelines, unpaired_events
from grader.observe.trace import Event, Run

AT_START = "zero_grad forward backward step"
AT_END = "forward backward step zero_grad"


def played(*calls: str, updates: int = 0) -> Run:
    """A run whose calls have these events; each `step` makes a state, and each event has a line of its own."""
    events: list[Event] = []
    state = 0
    for call, kinds in enumerate(calls):
        for kind in kinds.split():
            events.append(Event(kind, line=len(events) + 1, call=call, state=state))
            state += kind == "step"
    return Run(arrays={"theta": np.zeros((updates + 1, 2))}, events=events)


def kinds(moments: tuple[Moment, ...]) -> str:
    """Kinds of the moments; those without a counterpart have a star."""
    return " ".join(m.kind + "*" * m.differs for m in moments)


def drawn(run: Run, solution: Run, update: int | None = None) -> tuple[str, str]:
    yours, expected = timelines(run, solution, update)
    return kinds(yours), kinds(expected)


def test_the_call_with_the_difference_is_drawn_though_each_call_clears_at_its_end() -> None:
    run = played(AT_END, "forward backward clip step zero_grad", AT_END)
    yours, expected = drawn(run, played(AT_START, AT_START, AT_START))
    assert yours == "forward backward clip* step zero_grad"
    assert expected == AT_END


def test_a_clear_of_given_gradients_is_not_drawn_at_the_end() -> None:
    """Where the model had gradients before, clearing at the end of the call is not as right as at its start."""
    solution = played(AT_START, AT_START)
    solution.events[0] = replace(solution.events[0], gradients="set")
    yours, expected = drawn(played(AT_END, AT_END), solution)
    assert (yours, expected) == (AT_END, "zero_grad* forward backward step")


def test_a_clear_of_the_gradients_of_the_call_before_is_drawn_at_the_end() -> None:
    solution = played(AT_START, AT_START)
    solution.events[4] = replace(solution.events[4], gradients="set")
    assert drawn(played(AT_END, AT_END), solution) == (AT_END, AT_END)


def found_none(run: Run, *places: int) -> Run:
    """The run, of whose events these clears found every `.grad` None."""
    for place in places:
        assert run.events[place].kind == "zero_grad"
        run.events[place] = replace(run.events[place], gradients="none")
    return run


def test_a_learners_clear_that_finds_nothing_is_drawn_only_beside_a_partner() -> None:
    """The solution's is drawn all the same: it shows where a clear belongs."""
    both = "zero_grad forward backward first_step zero_grad forward backward step zero_grad"
    less = "forward backward first_step zero_grad forward backward clip step zero_grad"
    expected = "forward backward first_step zero_grad forward backward clip* step zero_grad"
    assert drawn(found_none(played(both), 0), played(less))[1] == expected
    assert drawn(found_none(played(both), 0), played(less))[0] == expected.replace("clip* ", "")
    yours, expected = drawn(played("forward backward clip step"), found_none(played(AT_START), 0))
    assert (yours, expected) == ("forward backward clip* step", "zero_grad* forward backward step")
    yours, expected = drawn(found_none(played(AT_START), 0), found_none(played(f"{AT_START} clip"), 0))
    assert (yours, expected) == (AT_START, f"{AT_START} clip*")


def test_what_is_not_drawn_does_not_choose_the_call() -> None:
    """A backward that reaches the first parameter in one program only, such as a frozen one."""
    run = played("zero_grad forward backward step", "zero_grad forward backward clip step")
    solution = played("zero_grad forward backward gradient step", "zero_grad forward backward gradient step")
    yours, expected = drawn(run, solution)
    assert yours == "zero_grad forward backward clip* step"
    assert expected == AT_START


@pytest.mark.parametrize(
    ("yours", "expected"),
    [
        (AT_END, AT_START),
        ("zero_grad forward backward step zero_grad", AT_START),
        ("forward backward step zero_grad scheduler", "zero_grad forward backward step scheduler"),
        ("forward backward step scheduler zero_grad", "zero_grad forward backward step scheduler"),
        ("forward zero_grad backward step " * 3, f"{AT_START} " * 3),
    ],
)
def test_where_the_gradients_are_cleared_is_no_difference(yours: str, expected: str) -> None:
    run, solution = played(yours), played(expected)
    assert "*" not in "".join(drawn(run, solution))
    assert unpaired_events(run, solution) == []


def test_a_program_that_goes_on_differs_where_the_solution_has_ended() -> None:
    """The solution clears before the forward pass after which it ends, and once more at the end; the learner after it.

    The first loop that the solution lacks is marked as a whole, though a later one would have as many partners.
    """
    run = played(
        "zero_grad forward zero_grad backward step " + "forward zero_grad backward step " * 2 + "forward"
    )
    solution = played("zero_grad forward backward step zero_grad forward zero_grad")
    yours, expected = drawn(run, solution)
    assert expected == "zero_grad forward backward step forward zero_grad"
    assert yours.startswith(
        "zero_grad forward zero_grad* backward step forward zero_grad backward* step* forward*"
    )


def test_the_step_of_a_second_step_is_not_drawn_beside_it() -> None:
    """What the learner calls is `second_step`: with SAM, `step` on a timeline would read as `sam.step()`."""
    solution = played("forward backward first_step forward backward second_step step zero_grad")
    yours, expected = drawn(played("forward backward first_step forward backward"), solution)
    assert yours == "forward backward first_step forward backward"
    assert expected == f"{yours} second_step* zero_grad*"
    yours, _ = drawn(played("forward backward first_step forward backward step zero_grad"), solution)
    assert yours == "forward backward first_step forward backward step* zero_grad"


def test_partners_stand_in_the_same_order() -> None:
    """Columns need it: the n-th moment with a partner belongs to the n-th of the other timeline."""
    run = played("forward backward step zero_grad scheduler")
    yours, expected = timelines(run, played("zero_grad forward backward step scheduler"), None)
    assert [m.kind for m in yours] == [m.kind for m in expected]


def test_gradients_that_are_never_cleared_differ() -> None:
    run, solution = played("forward backward step"), played(AT_START)
    assert drawn(run, solution) == ("forward backward step", "zero_grad* forward backward step")


def test_gradients_that_are_cleared_between_backward_and_step_differ() -> None:
    run, solution = played("forward backward zero_grad step"), played(AT_START)
    assert drawn(run, solution)[0] == "forward backward zero_grad* step"
    assert [e.line for e in unpaired_events(run, solution)] == [3]


def test_the_call_that_makes_the_wrong_update_is_drawn() -> None:
    run = played("clip " + AT_START, AT_START, updates=2)
    yours, _ = timelines(run, played(AT_START, AT_START, updates=2), 2)
    assert [m.line for m in yours] == [6, 7, 8, 9]


def test_an_update_that_the_learner_lacks_is_found_in_the_solution() -> None:
    run = played(AT_START, "zero_grad forward backward", updates=1)
    yours, expected = drawn(run, played(AT_START, AT_START, updates=2), 2)
    assert yours == "zero_grad forward backward"
    assert expected == "zero_grad forward backward step*"


def test_a_timeline_begins_after_the_update_before_the_wrong_one() -> None:
    loop = played(" ".join([AT_START] * 5), updates=5)
    yours, expected = timelines(loop, loop, 4)
    assert [m.line for m in yours] == list(range(13, 21))
    assert {m.line for m in expected} == {None}


def test_a_start_that_is_wrong_is_drawn_from_the_first_event() -> None:
    run = played(AT_START, updates=1)
    assert drawn(run, run, 0) == (AT_START, AT_START)


def test_a_timeline_surrounds_the_first_difference() -> None:
    run = played(" ".join(["forward"] * 20 + ["clip"] + ["forward"] * 20))
    yours, _ = timelines(run, played(" ".join(["forward"] * 40)), None)
    assert len(yours) == 12
    assert yours[6] == Moment("clip", 21, None, True)


def test_as_many_events_as_possible_have_a_partner() -> None:
    """The longest equal stretch, `step zero_grad … step`, would leave a whole update without a partner."""
    twice, once = "zero_grad forward backward step step", AT_START
    run, solution = played(" ".join([twice] * 3)), played(" ".join([once] * 3))
    yours, expected = drawn(run, solution)
    assert "*" not in expected
    assert yours.count("step*") == 2  # one for each update of which both are drawn


def test_a_second_clear_in_a_row_is_no_difference() -> None:
    twice = "zero_grad zero_grad forward backward step"
    run, solution = played(" ".join([twice] * 3)), played(" ".join([AT_START] * 3))
    assert drawn(run, solution) == drawn(solution, solution)


def test_both_timelines_begin_at_the_same_place() -> None:
    """The learner's stops early and has no difference of its own that its timeline could surround."""
    run, solution = played(" ".join([AT_END] * 3)), played(" ".join([AT_START] * 6))
    yours, expected = drawn(run, solution)
    assert yours.split() == expected.replace("*", "").split()[: len(yours.split())]
    assert "*" not in yours
    assert expected.split()[6] == "forward*"


def test_a_timeline_tells_that_it_begins_in_the_middle() -> None:
    run = played(" ".join(["forward"] * 20 + ["clip"]))
    yours, expected = timelines(run, played(" ".join(["forward"] * 20)), None)
    assert yours[0].goes_before
    assert expected[0].goes_before
    assert not any(moment.goes_before for moment in (*yours[1:], *expected[1:]))
    assert not timelines(played(AT_START), played(AT_END), None)[0][0].goes_before


def test_numbers_of_calls_may_be_forged() -> None:
    run = Run(events=[Event("clip", call=10**15)])
    assert drawn(run, played(AT_START))[1] == " ".join(f"{kind}*" for kind in AT_START.split())


def test_batches_are_counted_from_one() -> None:
    run = Run(events=[Event("forward", batch=1)])
    assert timelines(run, Run(events=[Event("forward", batch=0)]), None) == (
        (Moment("forward", None, 2, True),),
        (Moment("forward", None, 1, True),),
    )
