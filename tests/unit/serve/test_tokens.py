"""Which tokens a file holds, and who may serve without one."""

import hashlib
import os
import re
import time
from pathlib import Path

import pytest

from scp_ray.config import load_settings
from scp_ray.errors import ConfigError
from scp_ray.serve import tokens
from scp_ray.serve.tokens import (
    Scope,
    TokenFile,
    is_loopback,
    parse_tokens,
    require_tokens_or_loopback,
)

ALICE, BOB = (hashlib.sha256(secret).hexdigest() for secret in (b"alice-secret", b"bob-secret"))


def test_file_is_read_with_comments_and_empty_lines() -> None:
    text = f"# ours\n\n  alice   query {ALICE}  # until May\nbob admin {BOB.upper()}\n"
    alice, bob = parse_tokens(text, "tokens")
    assert (alice.name, alice.scope, alice.sha256) == ("alice", Scope.QUERY, ALICE)
    assert (bob.name, bob.scope, bob.sha256) == ("bob", Scope.ADMIN, BOB)


@pytest.mark.parametrize(
    "line",
    [
        f"alice {ALICE}",
        f"alice query {ALICE[:-1]}",
        f"alice query {ALICE}0",
        f"alice root {ALICE}",
        f"alice query,admin {ALICE}",
        f"alice query {ALICE} more",
        "alice query alice-secret",
        f"al ice query {ALICE}",
        f"alice QUERY {ALICE}",
        f"alice query {'g' * 64}",
        f"query {ALICE}",
        "\ufeff# begins with a mark of byte order",
    ],
)
def test_any_other_line_is_named(line: str) -> None:
    with pytest.raises(ConfigError, match=re.escape("serve.tokens_file tokens, line 2: expected")):
        parse_tokens(f"# first\n{line}\n", "tokens")


def test_two_lines_for_one_token_are_refused() -> None:
    with pytest.raises(ConfigError, match="line 2: bob has the token of alice"):
        parse_tokens(f"alice query {ALICE}\nbob admin {ALICE.upper()}", "tokens")


def test_file_without_a_token_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no token"):
        parse_tokens("# nobody yet\n", "tokens")


@pytest.mark.parametrize("content", [None, b"alice query \xff"])
def test_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "tokens"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"tokens_file {re.escape(str(path))}: cannot be read"):
        TokenFile(str(path))


def test_token_is_found_by_its_hash_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    empty = hashlib.sha256(b"").hexdigest()
    path.write_text(f"alice query {ALICE}\nbob admin {BOB}\nnobody admin {empty}\n")
    file = TokenFile(str(path))
    found = file.find(b"alice-secret")
    assert found is not None
    assert found.name == "alice"
    assert found.allows(Scope.QUERY)
    assert not found.allows(Scope.ADMIN)
    admin = file.find(b"bob-secret")
    assert admin is not None
    assert admin.allows(Scope.QUERY)
    assert admin.allows(Scope.ADMIN)
    for wrong in (b"", b"alice", ALICE.encode(), b"alice-secret ", b"\xff\x00", b"x" * 10**6):
        assert file.find(wrong) is None


def test_every_line_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"alice query {ALICE}\nbob admin {BOB}\n")
    file = TokenFile(str(path))
    compared = []

    def compare(one: str, other: str) -> bool:
        compared.append(one)
        return one == other

    monkeypatch.setattr(tokens.hmac, "compare_digest", compare)
    assert file.find(b"alice-secret") is not None
    assert compared == [ALICE, BOB]


def test_changed_file_holds_within_a_second_and_a_broken_one_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(tokens.time, "monotonic", lambda: now)
    path = tmp_path / "tokens"
    path.write_text(f"alice query {ALICE}\n")
    file = TokenFile(str(path))
    path.write_text(f"bob admin {BOB}\n")
    os.utime(path, ns=(1, 1))
    now += 0.5
    assert file.find(b"alice-secret") is not None
    now += 0.6
    assert file.find(b"alice-secret") is None
    assert file.find(b"bob-secret") is not None
    path.write_text("half a li")
    now += 2
    assert file.find(b"bob-secret") is not None
    assert "tokens stay as they were" in caplog.text
    path.unlink()
    now += 2
    assert file.find(b"bob-secret") is not None
    path.write_text(f"alice query {ALICE}\n")
    now += 2
    assert file.find(b"alice-secret") is not None
    assert file.find(b"bob-secret") is None


LOOPBACK = ["127.0.0.1", "127.9.8.7", "::1", "localhost", "LOCALHOST"]
OTHERS = ["0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com", "", "127.1", "[::1]"]  # noqa: S104


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_needs_no_tokens(host: str) -> None:
    assert is_loopback(host)
    require_tokens_or_loopback(load_settings(None, [f"serve.host='{host}'"], {}))


@pytest.mark.parametrize("host", OTHERS)
def test_any_other_address_needs_tokens(host: str) -> None:
    assert not is_loopback(host)
    settings = load_settings(None, [f"serve.host='{host}'"], {})
    with pytest.raises(ConfigError, match=r"set serve.tokens_file .*, or serve.host=127.0.0.1"):
        require_tokens_or_loopback(settings)
    require_tokens_or_loopback(settings.with_values("serve", tokens_file="/etc/tokens"))
