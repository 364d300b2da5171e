"""Who may ask: bearer tokens, of which only hashes are stored, and who may go without.

The file has a line ``name scope sha256`` for each token, scope ``query`` or ``admin``, and
comments after ``#``. A token is its own secret and long, so that its plain SHA-256 is enough;
``docs/operations.md`` says how to make one.
"""

import hashlib
import hmac
import ipaddress
import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from scp_ray.config import Settings
from scp_ray.errors import ConfigError

_LINE = re.compile(r"(?P<name>[\w.@-]+)\s+(?P<scope>query|admin)\s+(?P<sha256>[0-9a-fA-F]{64})")
_SECONDS_BETWEEN_LOOKS = 1.0

_logger = logging.getLogger(__name__)


class Scope(StrEnum):
    """What a token allows; ``admin`` allows what ``query`` does too."""

    QUERY = "query"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Token:
    """A line of the file of tokens."""

    name: str
    scope: Scope
    sha256: str

    def allows(self, scope: Scope) -> bool:
        """Say whether the token is good for a scope."""
        return self.scope in {scope, Scope.ADMIN}


class TokenFile:
    """The tokens of a file, which is read again when it has changed.

    The file is looked at once a second at most, when a token is shown. One that cannot be read
    then leaves the tokens as they were, with a line in the log.

    Raises:
        ConfigError: If the file cannot be read now, or has a line that is no token.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser()
        self._looked_at = time.monotonic()
        self._state = self._stat()
        self._tokens = self._read()

    def find(self, presented: bytes) -> Token | None:
        """Return the token, or None if there is no such one.

        Every line is compared in constant time, so that the time says nothing.
        """
        self._refresh()
        if not presented:
            return None
        sha256 = hashlib.sha256(presented).hexdigest()
        found = None
        for token in self._tokens:
            if hmac.compare_digest(token.sha256, sha256):
                found = token
        return found

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < _SECONDS_BETWEEN_LOOKS:
            return
        self._looked_at = now
        try:
            state = self._stat()
            if state != self._state:
                self._tokens = self._read()
                self._state = state
        except ConfigError as error:
            _logger.error("tokens stay as they were: %s", error)  # noqa: TRY400 - no traceback

    def _stat(self) -> tuple[int, int, int]:
        try:
            stat = self._path.stat()
        except OSError as error:
            raise self._unreadable(error) from error
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> list[Token]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from error
        return parse_tokens(text, str(self._path))

    def _unreadable(self, error: Exception) -> ConfigError:
        return ConfigError(f"serve.tokens_file {self._path}: cannot be read: {error}")


def parse_tokens(text: str, source: str) -> list[Token]:
    """Return the tokens of a file's text.

    Args:
        text: Lines ``name scope sha256``; empty ones and what follows a ``#`` are left out.
        source: Name of the file, for messages.

    Raises:
        ConfigError: If a line is anything else, a hash is there twice, or there is no token.
    """
    tokens: list[Token] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        match = _LINE.fullmatch(content)
        if match is None:
            message = (
                f"serve.tokens_file {source}, line {number}: expected "
                "`name scope sha256` with scope query or admin and 64 hexadecimal digits"
            )
            raise ConfigError(message)
        token = Token(match["name"], Scope(match["scope"]), match["sha256"].lower())
        _refuse_twin(token, tokens, f"{source}, line {number}")
        tokens.append(token)
    if not tokens:
        message = f"serve.tokens_file {source}: has no token"
        raise ConfigError(message)
    return tokens


def _refuse_twin(token: Token, tokens: Sequence[Token], where: str) -> None:
    for other in tokens:
        if other.sha256 == token.sha256:
            message = f"serve.tokens_file {where}: {token.name} has the token of {other.name}"
            raise ConfigError(message)


def is_loopback(host: str) -> bool:
    """Say whether a name or an address, without brackets and port, is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_tokens_or_loopback(settings: Settings) -> None:
    """Refuse to serve a network without tokens.

    Raises:
        ConfigError: If there is no file of tokens and the address is not loopback.
    """
    host = settings.serve.host
    if settings.serve.tokens_file is None and not is_loopback(host):
        message = (
            f"serve.host={host} can be reached from outside, and no token is asked for: set "
            "serve.tokens_file (docs/operations.md, Tokens), or serve.host=127.0.0.1"
        )
        raise ConfigError(message)
