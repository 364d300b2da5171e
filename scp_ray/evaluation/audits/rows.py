"""One row of a table that people fill in, and what its cells may hold."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from scp_ray.errors import ConfigError

_SEPARATOR: Final = ";"
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.0*)?")
_VERDICTS: Final = {
    **dict.fromkeys(("true", "yes", "pass", "1"), True),
    **dict.fromkeys(("false", "no", "fail", "0"), False),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table.

    Attributes:
        where: The file and the line or row, for messages.
        cells: Value of each column; columns without a value are left out.
        is_csv: Whether it comes from CSV, where an empty list of names is a blank cell.
    """

    where: str
    cells: Mapping[str, object]
    is_csv: bool = False

    def refuse(self, reason: str) -> NoReturn:
        """Refuse the row.

        Raises:
            ConfigError: Always.
        """
        message = f"{self.where}: {reason}"
        raise ConfigError(message)

    def text(self, column: str) -> str | None:
        """Return a text without white space around it, whole numbers as their digits, or None.

        Raises:
            ConfigError: If the cell holds something else.
        """
        value = self.cells.get(column)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            self.refuse(f"{column} is not a text: {value!r}")
        return self._clean(column, value)

    def required_text(self, column: str) -> str:
        """Return a text.

        Raises:
            ConfigError: If there is none, or the cell holds something else.
        """
        value = self.text(column)
        if value is None:
            self.refuse(f"{column} is blank")
        return value

    def whole_number(self, column: str, low: int, high: int) -> int | None:
        """Return a whole number of a range, ends included, or None.

        Raises:
            ConfigError: If the cell holds something else.
        """
        value = self.cells.get(column)
        if value is None:
            return None
        number = _number(value)
        if number is None:
            self.refuse(f"{column} is not a whole number: {value!r}")
        if not low <= number <= high:
            self.refuse(f"{column} is {number}, not from {low} to {high}")
        return number

    def required_number(self, column: str, low: int, high: int) -> int:
        """Return a whole number of a range, ends included.

        Raises:
            ConfigError: If there is none, or the cell holds something else.
        """
        number = self.whole_number(column, low, high)
        if number is None:
            self.refuse(f"{column} is blank")
        return number

    def verdict(self, column: str) -> bool:
        """Return a truth value: true, yes, pass, 1 or false, no, fail, 0, in any case.

        Raises:
            ConfigError: If the cell is blank or holds something else.
        """
        value = self.cells.get(column)
        verdict = _VERDICTS.get(str(value).strip().lower())
        if verdict is None:
            self.refuse(f"{column} is neither true nor false: {value!r}")
        return verdict

    def names(self, column: str) -> tuple[str, ...] | None:
        """Return a list of names, sorted, in lower case and with single spaces, or None.

        Raises:
            ConfigError: If the cell is neither a list of texts nor a text with ``;`` between
                names, or repeats a name.
        """
        value = self.cells.get(column)
        if value is None:
            return () if self.is_csv else None
        parts = value.split(_SEPARATOR) if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            self.refuse(f"{column} is not a list of names: {value!r}")
        names = [" ".join(self._clean(column, part).casefold().split()) for part in parts]
        names = sorted(name for name in names if name)
        if len(set(names)) != len(names):
            self.refuse(f"{column} repeats a name: {value!r}")
        return tuple(names)

    def _clean(self, column: str, value: str) -> str:
        if value != value.encode("utf-8", "replace").decode():
            self.refuse(f"{column} has half of a surrogate pair")
        return value.strip()


def require_unique(rows: Sequence[Row], keys: Sequence[object], what: str) -> None:
    """Check that no two rows have the same key.

    Raises:
        ConfigError: If two have; both are named.
    """
    first: dict[object, Row] = {}
    for row, key in zip(rows, keys, strict=True):
        if key in first:
            row.refuse(f"{what} {key!r} was used before, in {first[key].where}")
        first[key] = row


def _number(value: object) -> int | None:
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        return int(value.strip().split(".")[0])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
