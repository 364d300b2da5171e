"""Lines of a passage that may be titles, from the text alone."""

import re

MAX_TITLES = 20
_MAX_TITLE_CHARACTERS = 60
_ENDS_A_SENTENCE = re.compile(r"[.:,;!?]$")
_MARKS = re.compile(r"^[-#*=_|\s]+|[-#*=_|\s]+$")  # of Markdown headings and emphasis


def title_lines(passage: str, start: int) -> list[str]:
    """Return the short whole lines that begin a paragraph and do not end like a sentence.

    Args:
        passage: The text, cut anywhere; its last line counts only with its end.
        start: Lines that end before this character are left out.

    Returns:
        At most ``MAX_TITLES`` distinct ones, in order, without the marks of a heading.
    """
    titles: dict[str, None] = {}
    place, is_first_of_paragraph = 0, start == 0
    for line in passage.splitlines(keepends=True):
        place += len(line)
        text = _MARKS.sub("", line)
        is_title = 0 < len(text) <= _MAX_TITLE_CHARACTERS and not _ENDS_A_SENTENCE.search(text)
        is_whole = line != line.rstrip("\r\n")
        if place > start and is_first_of_paragraph and is_title and is_whole:
            titles[text] = None
        is_first_of_paragraph = not line.strip()
    return list(titles)[:MAX_TITLES]
