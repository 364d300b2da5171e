"""Which generation a service answers from: the decision, without clocks, processes or files.

Every process that holds a part of the index (a front, an encoder, a replica of a shard group) is a
holder and reports what it has open. The board moves the service to a new generation when every
holder has it open, and lets an old one go when no front needs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scp_ray.serve.models import ReloadModel, ReloadState
from scp_ray.storage.publish import GenerationEntry

FRONT = "front"
WAIT_S = 5.0  # a report is answered at the latest after
PATIENCE_S = 2 * WAIT_S  # a holder without an answer reports again after
LIFETIME_S = 4 * WAIT_S  # a holder that has not reported counts as dead after


class Stage(StrEnum):
    """How far a service is with its end."""

    RUNNING = "running"
    DRAINING = "draining"
    DRAINED = "drained"


@dataclass(frozen=True, slots=True)
class HolderReport:
    """What one holder tells of itself.

    Attributes:
        holder: Names the process.
        deployment: Whose replica it is.
        is_open: Generations that it can answer from.
        in_use: Generations that it still asks other holders for; of a front alone.
        failed: Generations that it could not open, and why.
        attempt: The directive's ``attempt`` under which it tried.
        number: Grows with each report of a holder; the reports may overtake each other.
        is_drained: Whether it takes no more questions and has answered those that it had; of a
            front alone.
    """

    holder: str
    deployment: str
    is_open: frozenset[GenerationEntry] = frozenset()
    in_use: frozenset[GenerationEntry] = frozenset()
    failed: Mapping[GenerationEntry, str] = field(default_factory=dict)
    attempt: int = 0
    number: int = 0
    is_drained: bool = False


@dataclass(frozen=True, slots=True)
class Directive:
    """What a holder is to do.

    Attributes:
        version: Grows with each change.
        serving: The generation to answer from; None before the first one is open everywhere.
        target: The newest one, to be opened.
        keep: Generations that must stay open; all others may be closed.
        attempt: Grows when a failed target is to be tried again.
        reload: For ``/v1/index``.
        stage: ``DRAINING`` when fronts are to take no more questions and to answer those that they
            have, ``DRAINED`` when all have.
    """

    version: int
    serving: GenerationEntry | None
    target: GenerationEntry
    keep: frozenset[GenerationEntry]
    attempt: int
    reload: ReloadModel
    stage: Stage


@dataclass(slots=True)
class _Holder:
    """A holder since its last report, which reflects all that it was told before.

    Attributes:
        report: The report.
        seen_at: When it came.
        is_open: What it surely still has open: it may have closed what it was told to let go.
        told: Generations that it may answer from now; of a front alone.
    """

    report: HolderReport
    seen_at: float
    is_open: frozenset[GenerationEntry]
    told: set[GenerationEntry] = field(default_factory=set)


class GenerationBoard:
    """Reports in, directives out.

    Args:
        target: The generation that ``CURRENT`` named at the start.
        num_replicas: Replicas of each deployment that must have a generation open before it is
            served.
        lifetime_s: Seconds without a report after which a holder counts as dead.
    """

    def __init__(
        self, target: GenerationEntry, num_replicas: Mapping[str, int], lifetime_s: float
    ) -> None:
        self._num_replicas = dict(num_replicas)
        self._lifetime_s = lifetime_s
        self._holders: dict[str, _Holder] = {}
        self._target = target
        self._serving: GenerationEntry | None = None
        self._attempt = 0
        self._version = 0
        self._keep = frozenset({target})
        self._said: tuple[object, ...] = ()
        self._began: float | None = None
        self._lost: str | None = None
        self._is_draining = False

    def report(self, report: HolderReport, now: float) -> None:
        """Take a report at ``now``, seconds of any clock that does not go back."""
        known = self._holders.get(report.holder)
        if known is None or known.report.number <= report.number:
            self._holders[report.holder] = _Holder(report, now, report.is_open)
        self._settle(now)

    def tell(self, holder: str) -> Directive:
        """Return the directive for one holder."""
        known = self._holders.get(holder)
        if known is not None:
            known.is_open &= self._keep
            if known.report.deployment == FRONT and self._serving is not None:
                known.told.add(self._serving)
        return self.directive

    def offer(self, entry: GenerationEntry, now: float) -> None:
        """Tell what ``CURRENT`` names."""
        self._lost = None
        if entry != self._target:
            self._target = entry
            self._attempt += 1
        self._settle(now)

    def lose(self, reason: str, now: float) -> None:
        """Tell that ``CURRENT`` cannot be read, and why; what it named last stays the target."""
        self._lost = reason
        self._settle(now)

    def drain(self, now: float) -> None:
        """Have the fronts come to their end, while everybody else goes on."""
        self._is_draining = True
        self._settle(now)

    def retry(self, now: float) -> None:
        """Have a failed target tried again."""
        self._attempt += self._failure is not None
        self._settle(now)

    @property
    def directive(self) -> Directive:
        """What every holder is to do."""
        return Directive(
            self._version,
            self._serving,
            self._target,
            self._keep,
            self._attempt,
            self._reload,
            self._stage,
        )

    def _settle(self, now: float) -> None:
        alive = {
            name: holder
            for name, holder in self._holders.items()
            if now - holder.seen_at <= self._lifetime_s
        }
        self._holders = alive
        before = self._said
        self._serving = self._best()
        needed = {self._serving} if self._serving else set()
        if self._failure is None or not needed:  # until it is tried again it takes no memory
            needed.add(self._target)
        for holder in alive.values():
            needed |= holder.report.in_use | holder.told
            if self._is_new(now):
                needed |= holder.is_open
        self._keep = frozenset(needed)
        self._said = (self._serving, self._keep, self._attempt, self._reload, self._stage)
        self._version += self._said != before

    def _is_new(self, now: float) -> bool:
        """Whether a front may be alive that has not reported yet, and what it uses is unknown."""
        if self._began is None:
            self._began = now
        return now - self._began <= self._lifetime_s

    def _best(self) -> GenerationEntry | None:
        """Return the target if all have it, else what is served, else the newest that all have."""
        if self._is_open_everywhere(self._target):
            return self._target
        if self._serving is not None:
            return self._serving
        entries = {entry for holder in self._holders.values() for entry in holder.is_open}
        shared = [entry for entry in entries if self._is_open_everywhere(entry)]
        return max(shared, key=lambda entry: entry.generation, default=None)

    def _is_open_everywhere(self, entry: GenerationEntry) -> bool:
        have: dict[str, int] = {}
        for holder in self._holders.values():
            if entry not in holder.is_open:
                return False
            deployment = holder.report.deployment
            have[deployment] = have.get(deployment, 0) + 1
        return all(have.get(name, 0) >= wanted for name, wanted in self._num_replicas.items())

    @property
    def _failure(self) -> str | None:
        return next(
            (
                f"{name}: {holder.report.failed[self._target]}"
                for name, holder in sorted(self._holders.items())
                if self._target in holder.report.failed and holder.report.attempt == self._attempt
            ),
            None,
        )

    @property
    def _reload(self) -> ReloadModel:
        failure = self._failure
        state = ReloadState.LOADING if failure is None else ReloadState.FAILED
        if self._serving == self._target:
            state, failure = ReloadState.CURRENT, None
        if self._lost is not None:
            state, failure = ReloadState.UNREADABLE, self._lost
        return ReloadModel(state=state, generation=self._target.generation, reason=failure)

    @property
    def _stage(self) -> Stage:
        if not self._is_draining:
            return Stage.RUNNING
        reports = [holder.report for holder in self._holders.values()]
        drained = [one.is_drained for one in reports if one.deployment == FRONT]
        has_all = len(drained) >= self._num_replicas.get(FRONT, 0)  # a new coordinator knows none
        return Stage.DRAINED if has_all and all(drained) else Stage.DRAINING
