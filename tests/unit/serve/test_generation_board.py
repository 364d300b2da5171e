"""What a service moves to, and what it says of it."""

import pytest

from scp_ray.serve.generation_board import FRONT, GenerationBoard, HolderReport, Stage
from scp_ray.serve.models import ReloadModel, ReloadState
from scp_ray.storage.keys import generation_folder
from scp_ray.storage.publish import GenerationEntry


def entry(number: int) -> GenerationEntry:
    manifest = generation_folder(number, "") + "/manifest.json"
    return GenerationEntry(generation=number, manifest=manifest, manifest_sha256=f"{number:064x}")


ONE, TWO = entry(1), entry(2)


@pytest.fixture
def board() -> GenerationBoard:
    """A front and two replicas of a group answer from the first generation."""
    board = GenerationBoard(ONE, {FRONT: 1, "group-0": 2}, lifetime_s=15.0)
    for name in ("front", "a", "b"):
        have(board, name, {ONE}, 0.0)
    return board


def have(  # noqa: PLR0913 - a report has as many fields
    board: GenerationBoard,
    name: str,
    is_open: set[GenerationEntry],
    now: float,
    *,
    uses: tuple[GenerationEntry, ...] = (),
    failed: dict[GenerationEntry, str] | None = None,
    attempt: int = 0,
    is_drained: bool = False,
) -> None:
    deployment = FRONT if name.startswith("front") else "group-0"
    report = HolderReport(
        name,
        deployment,
        frozenset(is_open),
        frozenset(uses),
        failed or {},
        attempt,
        is_drained=is_drained,
    )
    board.report(report, now)


def test_nothing_is_served_before_every_replica_has_it() -> None:
    board = GenerationBoard(ONE, {FRONT: 1, "group-0": 2}, lifetime_s=15.0)
    have(board, "front", {ONE}, 0.0)
    have(board, "a", {ONE}, 0.0)
    assert board.directive.serving is None
    have(board, "b", set(), 1.0)
    assert board.directive.serving is None
    have(board, "b", {ONE}, 2.0)
    assert board.directive.serving == ONE


def test_a_swap_waits_for_the_last_and_lets_go_after_the_fronts_last_use(
    board: GenerationBoard,
) -> None:
    board.offer(TWO, 20.0)
    have(board, "a", {ONE, TWO}, 20.0)
    have(board, "front", {ONE, TWO}, 20.0, uses=(ONE,))
    have(board, "b", {ONE}, 20.0)
    assert board.directive.serving == ONE
    assert board.directive.reload.state is ReloadState.LOADING
    have(board, "b", {ONE, TWO}, 21.0)
    assert (board.directive.serving, board.directive.keep) == (TWO, {ONE, TWO})
    board.tell("front")
    have(board, "front", {ONE, TWO}, 22.0, uses=(ONE, TWO))
    assert board.directive.keep == {ONE, TWO}
    have(board, "front", {ONE, TWO}, 23.0, uses=(TWO,))
    assert board.directive.keep == {TWO}
    assert board.directive.reload.state is ReloadState.CURRENT


def test_a_dead_replica_holds_nothing_up_once_another_one_is_there(board: GenerationBoard) -> None:
    board.offer(TWO, 1.0)
    for now in (10.0, 17.0):
        have(board, "front", {ONE, TWO}, now)
        have(board, "a", {ONE, TWO}, now)
    assert board.directive.serving == ONE
    have(board, "c", {TWO}, 18.0)
    assert board.directive.serving == TWO


def test_what_a_holder_may_have_closed_is_not_served_again_unseen(board: GenerationBoard) -> None:
    board.offer(TWO, 20.0)
    for name in ("front", "a", "b"):
        have(board, name, {ONE, TWO}, 20.0, uses=(TWO,) if name == "front" else ())
    assert board.tell("a").keep == {TWO}
    board.offer(ONE, 21.0)
    assert board.directive.serving == TWO
    have(board, "a", {ONE, TWO}, 22.0)
    assert board.directive.serving == ONE


def test_a_new_coordinator_lets_nothing_go_before_all_fronts_can_have_reported() -> None:
    board = GenerationBoard(TWO, {FRONT: 1, "group-0": 2}, lifetime_s=15.0)
    have(board, "a", {ONE, TWO}, 100.0)
    assert board.directive.keep == {ONE, TWO}
    have(board, "a", {ONE, TWO}, 110.0)
    have(board, "front", {TWO}, 114.0, uses=(ONE,))
    have(board, "a", {ONE, TWO}, 116.0)
    assert board.directive.keep == {ONE, TWO}
    have(board, "front", {TWO}, 117.0)
    assert board.directive.keep == {TWO}


def test_a_failed_generation_is_told_and_tried_again(board: GenerationBoard) -> None:
    board.offer(TWO, 1.0)
    attempt, version = board.directive.attempt, board.directive.version
    have(board, "front", {ONE, TWO}, 2.0, attempt=attempt)
    have(board, "a", {ONE, TWO}, 2.0, attempt=attempt)
    have(board, "b", {ONE}, 2.0, failed={TWO: "ChecksumError: x"}, attempt=attempt)
    failed = ReloadModel(state=ReloadState.FAILED, generation=2, reason="b: ChecksumError: x")
    assert (board.directive.reload, board.directive.serving) == (failed, ONE)
    assert board.directive.version > version
    board.retry(3.0)
    assert board.directive.attempt == attempt + 1
    assert board.directive.reload.state is ReloadState.LOADING
    board.retry(3.0)
    assert board.directive.attempt == attempt + 1
    have(board, "b", {ONE, TWO}, 4.0, attempt=attempt + 1)
    assert board.directive.serving == TWO


def test_current_that_cannot_be_read_is_told_until_it_can_and_changes_nothing(
    board: GenerationBoard,
) -> None:
    before = board.directive
    board.lose("StorageError: no route", 1.0)
    lost = board.directive
    assert lost.version > before.version
    reason = "StorageError: no route"
    assert lost.reload == ReloadModel(state=ReloadState.UNREADABLE, generation=1, reason=reason)
    assert (lost.serving, lost.target, lost.keep) == (ONE, ONE, before.keep)
    board.lose("StorageError: no route", 2.0)
    assert board.directive.version == lost.version
    board.offer(ONE, 3.0)
    assert board.directive.reload == before.reload


def test_a_generation_that_failed_waits_for_its_retry_while_current_cannot_be_read(
    board: GenerationBoard,
) -> None:
    board.offer(TWO, 21.0)
    attempt = board.directive.attempt
    for name in ("front", "a"):
        have(board, name, {ONE}, 21.0, attempt=attempt)
    have(board, "b", {ONE}, 21.0, failed={TWO: "ChecksumError: x"}, attempt=attempt)
    board.lose("StorageError: no route", 21.0)
    assert board.directive.keep == {ONE}
    board.retry(22.0)
    assert (board.directive.attempt, board.directive.keep) == (attempt + 1, {ONE, TWO})
    assert board.directive.reload.state is ReloadState.UNREADABLE


def test_the_rest_may_go_when_every_front_has_come_to_its_end() -> None:
    board = GenerationBoard(ONE, {FRONT: 2, "group-0": 1}, lifetime_s=15.0)
    for name in ("front-1", "a"):
        have(board, name, {ONE}, 0.0)
    board.drain(1.0)
    have(board, "front-1", {ONE}, 2.0, is_drained=True)
    assert board.directive.stage is Stage.DRAINING
    have(board, "front-2", {ONE}, 3.0)
    assert board.directive.stage is Stage.DRAINING
    have(board, "front-2", {ONE}, 4.0, is_drained=True)
    assert board.directive.stage is Stage.DRAINED
    assert board.directive.serving == ONE


def test_moving_back_serves_the_earlier_one(board: GenerationBoard) -> None:
    board.offer(TWO, 1.0)
    for name in ("front", "a", "b"):
        have(board, name, {ONE, TWO}, 2.0)
    board.offer(ONE, 3.0)
    assert board.directive.serving == ONE


def test_what_a_front_was_told_since_its_report_stays_open_whichever_answer_it_got() -> None:
    board = GenerationBoard(ONE, {FRONT: 1}, lifetime_s=15.0)
    for now in (0.0, 10.0, 20.0):
        have(board, "front", {ONE, TWO}, now, uses=(ONE,))
    board.offer(TWO, 20.0)
    assert board.tell("front").serving == TWO
    board.offer(ONE, 20.0)
    assert board.tell("front").serving == ONE
    board.offer(ONE, 21.0)
    assert board.directive.keep == {ONE, TWO}
    have(board, "front", {ONE, TWO}, 22.0, uses=(ONE,))
    assert board.directive.keep == {ONE}
