"""Errors that the reader of the message can mend: one family of classes, caught in one place of the command line."""

from typing import ClassVar


class HanstepError(Exception):
    """Its text is Korean, says what was wrong with the value, and ends with what mends it.

    Every error that a learner or an instructor may meet is a subclass of it. Any other exception, such as a
    `ValueError` of our code, is a bug of ours and shows as a traceback.
    """

    status: ClassVar[int] = 2
    """What the command line exits with."""


class CommandError(HanstepError):
    """The command cannot be carried out as asked."""


class NothingToCheck(HanstepError):
    """A file was given that holds nothing to check; the learner's code is not right, so the status is 1."""

    status: ClassVar[int] = 1
