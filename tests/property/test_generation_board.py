"""The board against any holders that keep to the protocol, as slowly and unluckily as they may.

A holder may open what it likes, close what it was told to let go, drop an answer that it waited
for, and die; a front answers from the generation that it was last told. Messages wait for as long
as the machine likes. What is checked is what holders really have open, not what they reported.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scp_ray.serve.generation_board import FRONT, Directive, GenerationBoard, HolderReport, Stage
from scp_ray.serve.models import ReloadState
from scp_ray.storage.keys import generation_folder
from scp_ray.storage.publish import GenerationEntry

LIFETIME_S = 15.0
GROUP = "group-0"
ENTRIES = [
    GenerationEntry(
        generation=number,
        manifest=generation_folder(number, "") + "/manifest.json",
        manifest_sha256=f"{number:064x}",
    )
    for number in range(1, 5)
]
REASON = "ChecksumError: damaged"


@dataclass(eq=False)
class Holder:
    """A process: what it has open, and where its one conversation with the coordinator is."""

    name: str
    deployment: str
    is_open: set[GenerationEntry] = field(default_factory=set)
    serving: GenerationEntry | None = None
    uses: Counter[GenerationEntry] = field(default_factory=Counter)
    failed: dict[GenerationEntry, str] = field(default_factory=dict)
    attempt: int = 0
    wanted: set[GenerationEntry] = field(default_factory=set)
    letter: HolderReport | None = None  # written, not delivered
    is_waiting: bool = False
    dropped: int = 0  # calls that it has given up and the coordinator has not
    answer: Directive | None = None  # on its way back
    heard_at: float | None = None
    was_told_to_drain: bool = False
    is_drained: bool = False
    delivered: HolderReport | None = None

    @property
    def needs(self) -> set[GenerationEntry]:
        """What this front asks others for, or will ask when the answer arrives."""
        if self.deployment != FRONT:
            return set()
        coming = {self.answer.serving} if self.answer and self.answer.serving else set()
        return {*self.uses, *({self.serving} if self.serving else ()), *coming}

    def write(self) -> None:
        """Begin a call, instead of the one under way if there is one."""
        self.dropped += self.is_waiting
        self.is_waiting, self.answer = False, None
        used = {*self.uses, *({self.serving} if self.serving else ())}
        self.letter = HolderReport(
            self.name,
            self.deployment,
            frozenset(self.is_open),
            frozenset(used) if self.deployment == FRONT else frozenset(),
            dict(self.failed),
            self.attempt,
            is_drained=self.is_drained,
        )

    def obey(self, keep_some: Callable[[list[GenerationEntry]], set[GenerationEntry]]) -> None:
        """Do as it is told, closing as much of what is not to be kept as it happens to."""
        directive, self.answer = self.answer, None
        assert directive is not None
        self.was_told_to_drain |= directive.stage is not Stage.RUNNING
        if directive.attempt != self.attempt:
            self.attempt = directive.attempt
            self.failed.clear()
        if directive.serving in self.is_open:
            self.serving = directive.serving
        self.wanted = {directive.target, *([directive.serving] if directive.serving else [])}
        closable = self.is_open - directive.keep - {self.serving, *self.uses}
        self.is_open -= closable - keep_some(sorted(closable, key=lambda one: one.generation))


def may_take_questions(holder: Holder) -> bool:
    """Whether it is a front that answers, and has not come to its end."""
    return holder.deployment == FRONT and holder.serving is not None and not holder.is_drained


class Service(RuleBasedStateMachine):
    """The processes of a service, its index, and one coordinator after another."""

    @initialize(fronts=st.integers(1, 2), groups=st.integers(1, 2))
    def begin(self, fronts: int, groups: int) -> None:
        """Start with the first generation."""
        self.wanted = {FRONT: fronts, GROUP: groups}
        self.current, self.now, self.num_started = ENTRIES[0], 0.0, 0
        self.holders: list[Holder] = []
        self.gone: list[Holder] = []
        self.start_board()
        for deployment, count in self.wanted.items():
            for _ in range(count):
                self.start(deployment)

    def start_board(self) -> None:
        """Start a coordinator that knows nothing but ``CURRENT``."""
        self.lost: str | None = None
        self.is_draining = False
        self.board = GenerationBoard(self.current, self.wanted, LIFETIME_S)
        self.gone = []
        for holder in self.holders:
            if holder.is_waiting:  # its call fails, and it begins another one in time
                holder.is_waiting = False
            holder.dropped, holder.delivered = 0, None
            holder.heard_at = self.now

    def start(self, deployment: str) -> None:
        """Start a process."""
        self.num_started += 1
        self.holders.append(Holder(f"{deployment}#{self.num_started}", deployment))

    def act(self, change: Callable[[], object]) -> None:
        """Change the board, and look at what became of the directive."""
        before = self.board.directive
        change()
        after = self.board.directive
        said = [
            (one.serving, one.target, one.keep, one.attempt, one.reload, one.stage)
            for one in (before, after)
        ]
        if before.version:  # what a new board says first is news however it reads
            assert (after.version > before.version) == (said[0] != said[1])
        if after.serving != before.serving:
            self.check_taken(after.serving)

    def check_taken(self, entry: GenerationEntry | None) -> None:
        """All that the board can know of must really have open what it moves to."""
        known = [one for one in [*self.holders, *self.gone] if one.delivered is not None]
        known = [one for one in known if self.now - (one.heard_at or 0.0) <= LIFETIME_S]
        for deployment, count in self.wanted.items():
            mine = [one for one in known if one.deployment == deployment]
            assert len(mine) >= count
            assert all(entry in one.is_open for one in mine)

    def of(self, data: st.DataObject, *, where: Callable[[Holder], object]) -> Holder:
        """Pick a holder."""
        return data.draw(st.sampled_from([one for one in self.holders if where(one)]))

    def any_holder(self, where: Callable[[Holder], object]) -> bool:
        """Whether there is one."""
        return any(map(where, self.holders))

    @rule(data=st.data())
    @precondition(lambda self: self.any_holder(lambda one: one.letter is None))
    def write(self, data: st.DataObject) -> None:
        """A holder reports, perhaps because something happened while it waited."""
        self.of(data, where=lambda one: one.letter is None).write()

    def deliver_to_board(self, holder: Holder) -> None:
        """Let a report arrive."""
        report, holder.letter = holder.letter, None
        assert report is not None
        holder.delivered, holder.heard_at, holder.is_waiting = report, self.now, True
        self.act(lambda: self.board.report(report, self.now))

    @rule(data=st.data())
    @precondition(lambda self: self.any_holder(lambda one: one.letter))
    def deliver(self, data: st.DataObject) -> None:
        """A report arrives."""
        self.deliver_to_board(self.of(data, where=lambda one: one.letter))

    @rule(data=st.data())
    @precondition(lambda self: self.any_holder(lambda one: one.is_waiting))
    def answer(self, data: st.DataObject) -> None:
        """The coordinator answers."""
        holder = self.of(data, where=lambda one: one.is_waiting)
        holder.is_waiting, holder.answer = False, self.board.tell(holder.name)

    @rule(data=st.data())
    @precondition(lambda self: self.any_holder(lambda one: one.dropped))
    def answer_nobody(self, data: st.DataObject) -> None:
        """The coordinator answers a call that was given up."""
        holder = self.of(data, where=lambda one: one.dropped)
        holder.dropped -= 1
        self.board.tell(holder.name)

    @rule(data=st.data())
    @precondition(lambda self: self.any_holder(lambda one: one.answer))
    def obey(self, data: st.DataObject) -> None:
        """A holder does as it was told."""
        holder = self.of(data, where=lambda one: one.answer)
        before = set(holder.is_open)
        holder.obey(lambda some: data.draw(st.sets(st.sampled_from(some))) if some else set())
        for entry in before - holder.is_open:
            self.check_let_go(entry)

    @rule(data=st.data(), num_steps=st.integers(2, 6))
    def talk(self, data: st.DataObject, num_steps: int) -> None:
        """A holder and the coordinator talk, and stop somewhere."""
        self.steps(self.of(data, where=lambda _one: True), num_steps)

    @rule(num_rounds=st.integers(1, 3), num_steps=st.integers(3, 6))
    def all_talk(self, num_rounds: int, num_steps: int) -> None:
        """Nothing goes wrong for a while."""
        for _ in range(num_rounds):
            for holder in self.holders:
                self.steps(holder, num_steps)

    @rule(entry=st.sampled_from(ENTRIES), last_step=st.integers(3, 6))
    def swap(self, entry: GenerationEntry, last_step: int) -> None:
        """A generation is published and taken, and a while passes."""
        self.publish(entry)
        for step in (6, 6, 6, last_step):
            self.now += 5.0
            for holder in self.holders:
                self.steps(holder, step)

    def steps(self, holder: Holder, num_steps: int) -> None:
        """Report, be answered, obey, open what is wanted, and report again."""
        for step in range(num_steps):
            if step in (0, 4):
                holder.write()
            elif step in (1, 5):
                self.deliver_to_board(holder)
            elif step == 2:
                holder.is_waiting, holder.answer = False, self.board.tell(holder.name)
            else:
                before = set(holder.is_open)
                holder.obey(lambda _some: set())
                for entry in before - holder.is_open:
                    self.check_let_go(entry)
                holder.is_open |= holder.wanted - holder.failed.keys()

    def check_let_go(self, entry: GenerationEntry) -> None:
        """Nobody may ask for what is closed, now or when an answer on its way arrives."""
        assert all(entry not in front.needs for front in self.holders)

    @rule(data=st.data(), fails=st.booleans())
    @precondition(lambda self: self.any_holder(lambda one: one.wanted - one.is_open))
    def open(self, data: st.DataObject, fails: bool) -> None:
        """A holder has opened a generation, or has not been able to."""
        holder = self.of(data, where=lambda one: one.wanted - one.is_open)
        missing = sorted(holder.wanted - holder.is_open, key=lambda one: one.generation)
        entry = data.draw(st.sampled_from(missing))
        if fails:
            holder.failed[entry] = REASON
        elif entry not in holder.failed:
            holder.is_open.add(entry)

    @rule(data=st.data())
    @precondition(lambda self: self.any_holder(may_take_questions))
    def begin_request(self, data: st.DataObject) -> None:
        """A question comes in."""
        front = self.of(data, where=may_take_questions)
        front.uses[front.serving] += 1

    @rule(data=st.data())
    @precondition(lambda self: self.any_holder(lambda one: one.uses))
    def end_request(self, data: st.DataObject) -> None:
        """A question is answered."""
        front = self.of(data, where=lambda one: one.uses)
        entry = data.draw(st.sampled_from(sorted(front.uses, key=lambda one: one.generation)))
        front.uses -= Counter([entry])

    @rule(entry=st.sampled_from(ENTRIES))
    def publish(self, entry: GenerationEntry) -> None:
        """``CURRENT`` moves, forward or back, or can be read again."""
        self.current, self.lost = entry, None
        self.act(lambda: self.board.offer(entry, self.now))
        assert self.board.directive.target == entry

    @rule(reason=st.sampled_from(["IndexFormatError: no index", "StorageError: no route"]))
    def lose(self, reason: str) -> None:
        """``CURRENT`` cannot be read: that is said, and nothing else changes."""
        before = self.board.directive
        self.lost = reason
        self.act(lambda: self.board.lose(reason, self.now))
        after = self.board.directive
        assert (after.serving, after.target) == (before.serving, before.target)
        assert (after.attempt, after.stage) == (before.attempt, before.stage)
        assert before.serving is None or before.serving in after.keep

    @rule()
    def drain(self) -> None:
        """The service is to stop: until the fronts have come to their end nothing else changes."""
        before = self.board.directive
        self.is_draining = True
        self.act(lambda: self.board.drain(self.now))
        after = self.board.directive
        assert (after.serving, after.target) == (before.serving, before.target)
        assert before.serving is None or before.serving in after.keep

    @rule(data=st.data())
    @precondition(lambda self: self.any_holder(lambda one: one.was_told_to_drain and not one.uses))
    def come_to_the_end(self, data: st.DataObject) -> None:
        """A front that takes no more questions has answered its last one."""
        ends = self.of(data, where=lambda one: one.was_told_to_drain and not one.uses)
        ends.is_drained = ends.deployment == FRONT

    @rule()
    def retry(self) -> None:
        """Somebody asks for another try."""
        before = self.board.directive
        self.act(lambda: self.board.retry(self.now))
        assert self.board.directive.attempt - before.attempt in (0, 1)
        if before.reload.state is ReloadState.FAILED:
            assert self.board.directive.attempt > before.attempt

    @rule(data=st.data())
    @precondition(lambda self: len(self.holders) > 1)
    def die(self, data: st.DataObject) -> None:
        """A process dies and another one takes its place."""
        holder = self.of(data, where=lambda _one: True)
        self.holders.remove(holder)
        self.gone.append(holder)
        self.start(holder.deployment)

    @rule()
    def restart_coordinator(self) -> None:
        """The coordinator dies; the next one knows nothing."""
        self.start_board()

    @rule(seconds=st.sampled_from([1.0, 6.0, 14.0, 16.0]))
    def wait(self, seconds: float) -> None:
        """Time passes, in which every live process that is known keeps reporting."""
        ends = self.now + seconds
        while self.now < ends:
            self.now = min(ends, self.now + 5.0)
            for holder in self.holders:
                late = holder.heard_at is not None and self.now - holder.heard_at > 5.0
                if late:
                    if holder.letter is None:
                        holder.write()
                    self.deliver_to_board(holder)

    @invariant()
    def what_is_used_is_kept(self) -> None:
        """Nothing that a front uses, or may use at any moment, is to be let go."""
        for front in self.holders:
            if front.delivered is not None:
                assert front.needs <= self.board.directive.keep

    @invariant()
    def a_failure_shows(self) -> None:
        """A failed target shows as failed, with whose it is and why, unless it is served."""
        directive = self.board.directive
        failing = [
            one.name
            for one in self.holders
            if one.delivered is not None
            and directive.target in one.delivered.failed
            and one.delivered.attempt == directive.attempt
        ]
        reload = directive.reload
        assert reload.generation == directive.target.generation
        if self.lost is not None:
            assert (reload.state, reload.reason) == (ReloadState.UNREADABLE, self.lost)
            return
        assert reload.state is not ReloadState.UNREADABLE
        if directive.serving == directive.target:
            assert (reload.state, reload.reason) == (ReloadState.CURRENT, None)
        elif failing:
            assert reload.state is ReloadState.FAILED
            assert REASON in str(reload.reason)
        if directive.target in {entry for one in self.holders for entry in one.failed}:
            return
        if not self.gone:
            assert reload.state is not ReloadState.FAILED or failing

    @invariant()
    def the_rest_goes_when_no_front_has_a_question_left(self) -> None:
        """Drained is said only when every front there is takes none and has none."""
        stage = self.board.directive.stage
        assert (stage is Stage.RUNNING) is not self.is_draining
        if stage is Stage.DRAINED:
            known = [one for one in self.holders if one.delivered and one.deployment == FRONT]
            assert all(one.is_drained and not one.uses for one in known)

    def teardown(self) -> None:
        """When all goes well from here on, the newest is served, and everything else let go."""
        if not hasattr(self, "board"):
            return
        for holder in self.holders:
            holder.uses.clear()
        for _ in range(30):
            self.now += 1.0
            self.act(lambda: self.board.retry(self.now))
            for holder in self.holders:
                holder.write()
                self.deliver_to_board(holder)
                holder.is_waiting, holder.answer = False, self.board.tell(holder.name)
                holder.obey(lambda _some: set())
                holder.is_open |= holder.wanted - holder.failed.keys()
            if self.is_draining:
                for holder in self.holders:
                    holder.is_drained = holder.deployment == FRONT
        directive = self.board.directive
        assert directive.stage is (Stage.DRAINED if self.is_draining else Stage.RUNNING)
        assert directive.serving == directive.target == self.current
        assert directive.keep == {self.current}
        if self.lost is not None:
            assert directive.reload.state is ReloadState.UNREADABLE
            self.publish(self.current)
        assert self.board.directive.reload.state is ReloadState.CURRENT
        assert all(one.is_open == {self.current} for one in self.holders)
        assert all(one.serving == self.current for one in self.holders)


Service.TestCase.settings = settings(max_examples=250, stateful_step_count=40)
TestService = Service.TestCase
