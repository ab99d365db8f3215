"""Define the settings of a site: where it is published, and what is said about each page."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from grader.site.part_page import SiteError

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Addresses:
    """Addresses of the course's source and of the finished site; links that need an empty one are left out."""

    repository: str = ""
    """GitHub repository: `OWNER/NAME`."""
    url: str = ""
    """Address of the site, without a slash at its end."""

    def __post_init__(self) -> None:
        """Refuse values that would make broken links.

        Raises:
            SiteError: one of the two is malformed.
        """
        if self.repository and not _REPOSITORY.fullmatch(self.repository):
            raise SiteError(
                f"--repository에는 GitHub 저장소를 '주인/이름'으로 적어 주세요. 받은 값: {self.repository!r}"
            )
        if self.url and not re.fullmatch(r"https?://[^\s\"'<>]+", self.url):
            raise SiteError(f"--url은 http:// 나 https:// 로 시작해야 해요. 받은 값: {self.url!r}")

    def colab(self, notebook: str) -> str:
        """Return the address that opens a notebook below `lessons/` in Colab; empty without a repository."""
        if not self.repository:
            return ""
        return f"https://colab.research.google.com/github/{self.repository}/blob/main/lessons/{notebook}"

    def report(self, page: str) -> str:
        """Return the address for a new issue about a page; empty without a repository."""
        if not self.repository:
            return ""
        title = quote(f"[사이트] {page}: ")
        return f"https://github.com/{self.repository}/issues/new?title={title}"

    def page(self, name: str) -> str:
        """Return the address of a page or another file of the site; empty if the site's address is not known."""
        return f"{self.url.rstrip('/')}/{name}" if self.url else ""


@dataclass(frozen=True)
class PageFacts:
    """Title and description of a page, for its frame and its preview picture."""

    title: str
    description: str
    language: str = "ko"
    lines: tuple[str, ...] = ()
    """Lines below the title on the page's preview picture."""
