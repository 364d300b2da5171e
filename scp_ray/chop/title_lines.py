"""Lines that may be titles, from the text alone."""

_MOST_CHARACTERS = 60  # of a title; headings of manuals are shorter, lines of a paragraph longer
_HEADING_MARKS = "-#*=_| \t"  # of Markdown headings, emphasis and tables
_SENTENCE_ENDS = (".", ":", ",", ";", "!", "?")
_NEW_PARAGRAPH = "\n\n"


def new_titles(chunk: str, next_chunk: str, num_shared: int) -> list[str]:
    """Return the lines of ``next_chunk`` that may be titles and that ``chunk`` does not show.

    A title is a short whole line that begins a paragraph and does not end like a sentence. Where
    chunks share no text, what lay between them is not known, and a paragraph may begin there.

    Args:
        chunk: A chunk, cut anywhere.
        next_chunk: The next one, cut anywhere.
        num_shared: Characters that both hold.

    Returns:
        Distinct titles in order, without the marks of a heading.
    """
    shown = chunk if num_shared else chunk + _NEW_PARAGRAPH
    known: set[str] = set()
    new: dict[str, None] = {}
    end, follows_blank = 0, True
    for line in (shown + next_chunk[num_shared:]).splitlines(keepends=True):
        end += len(line)
        title = _title(line) if follows_blank else None
        follows_blank = not line.strip()
        if title is None:
            continue
        if end <= len(shown):
            known.add(title)
        elif title not in known:
            new[title] = None
    return list(new)


def _title(line: str) -> str | None:
    is_whole = line.splitlines() != [line]
    text = line.strip().strip(_HEADING_MARKS)
    is_title = 0 < len(text) <= _MOST_CHARACTERS and not text.endswith(_SENTENCE_ENDS)
    return text if is_title and is_whole else None
