"""Base classes of the errors that a user can fix; the command line catches them in one place (`grader.cli.main`)."""

from typing import ClassVar


class HanstepError(Exception):
    """Base class of every error that a learner or an instructor may meet.

    The message is Korean, names the offending value, and ends with the remedy. Any other exception, such as a
    `ValueError` raised by our code, is a bug of ours and shows as a traceback.
    """

    status: ClassVar[int] = 2
    """Exit status of the command line."""


class CommandError(HanstepError):
    """The command cannot be carried out as given."""


class NothingToCheck(HanstepError):
    """The given file holds nothing to check. The status is 1, as for code that is not right."""

    status: ClassVar[int] = 1
