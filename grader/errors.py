"""What goes wrong and can be mended by whoever reads the message: one family, caught once, in the command line."""

from typing import ClassVar


class HanstepError(Exception):
    """Its text is Korean, says what was wrong with the value, and ends with what mends it.

    Every error that a learner or an instructor may meet is a kind of it. What is not (a `ValueError` of ours, say) is
    our own slip, and shows as a traceback.
    """

    status: ClassVar[int] = 2
    """What the command line exits with."""


class CommandError(HanstepError):
    """The command cannot be carried out as asked."""


class NothingToCheck(HanstepError):
    """A file was given that holds nothing to check; the learner's code is not right, so the status is 1."""

    status: ClassVar[int] = 1
