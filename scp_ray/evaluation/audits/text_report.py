"""Lays out the audit of text evidence as a report."""

from typing import Final

from scp_ray.evaluation.audits.narratives import DETAIL_WORDS
from scp_ray.evaluation.audits.projection import Share
from scp_ray.evaluation.audits.text_audit import Group, TextAudit
from scp_ray.evaluation.pages.content import (
    Cells,
    Plot,
    Report,
    Section,
    Table,
    decimal,
    percent,
    percent_range,
    shortened,
)

_MOST_ROWS: Final = 30
_MOST_LABELS: Final = 8
_MOST_CHARACTERS: Final = 240
_SHARE_COLUMNS: Final = ("labelled", "share", "95 % interval", "of all", "95 % interval of all")


def report_text_audit(audit: TextAudit, file: str) -> Report:
    """Return the report of an audit of the file."""
    subtitle = (
        f"{file}: {audit.num_reviews} reviews, {audit.num_labelled} fully labelled, projected to "
        f"{audit.num_texts}"
    )
    sections = [
        _ratings(audit),
        _flags_and_narratives(audit),
        _flags_by_narrative(audit),
        _issues(audit),
        _pairs(audit),
        *_groups("Strata", audit.by_stratum),
        *_groups("Templates", audit.by_template),
        *_groups("Reviewers", audit.by_reviewer),
        _leads(audit),
    ]
    shown = tuple(section for section in sections if section is not None)
    return Report("Audit of text evidence", subtitle, shown)


def _ratings(audit: TextAudit) -> Section:
    mean = audit.mean_rating
    notes = [
        f"Mean rating {mean.point:.2f} ({mean.low:.2f} to {mean.high:.2f}), projected.",
        _how_projected(audit),
    ]
    if audit.num_partial:
        notes.append(f"Begun, not fully labelled, and left out: {audit.num_partial}.")
    shares = {**audit.ratings, **{f"all of {name}": one for name, one in audit.bands.items()}}
    table = Table(
        ("rating", *_SHARE_COLUMNS),
        tuple((name, *_share_cells(share)) for name, share in shares.items()),
    )
    lines = tuple((name, share.share) for name, share in audit.ratings.items())
    return Section("Ratings", tuple(notes), Plot("Share of each rating", lines), table)


def _how_projected(audit: TextAudit) -> str:
    if audit.too_thin:
        names = ", ".join(name or "those without a stratum" for name in audit.too_thin)
        return (
            "Projected without strata, as if the labelled reviews were drawn at random from all: "
            f"fewer than two are labelled of {names}."
        )
    if audit.strata:
        return f"Projected by stratum: {', '.join(audit.strata)}."
    return "Projected as if the labelled reviews were drawn at random from all."


def _flags_and_narratives(audit: TextAudit) -> Section:
    table = audit.flags_and_detail
    rule = f"A detail is a narrative of at least {DETAIL_WORDS} words."
    counts = (
        f"Of the labelled reviews {table.both} have a flag and a detail, {table.only_flags} only a "
        f"flag, {table.only_detail} only a detail, {table.neither} neither."
    )
    rows = (
        ("with a flag", *_share_cells(audit.flagged)),
        ("with a detail in the narrative", *_share_cells(audit.detailed)),
    )
    lines = (("flag", audit.flagged.share), ("detail", audit.detailed.share))
    plot = Plot("Share with a flag, and with a detail", lines)
    return Section(
        "Flags and narratives", (rule, counts), plot, Table(("reviews", *_SHARE_COLUMNS), rows)
    )


def _flags_by_narrative(audit: TextAudit) -> Section | None:
    columns = (
        "flag",
        "named too",
        "not named",
        "no narrative",
        "named, not ticked",
        "kappa",
        "median words",
    )
    rows = [
        (
            one.flag,
            str(one.named),
            str(one.silent),
            str(one.without_narrative),
            str(one.only_named),
            decimal(one.kappa),
            f"{one.median_words:g}",
        )
        for one in audit.flags_in_narratives
    ]
    note = (
        "A narrative names a flag when it has every word of the flag's name but function words, in "
        "any order. Kappa is Cohen's, between ticking and naming."
    )
    table = shortened(columns, rows, _MOST_ROWS)
    return Section("What narratives say of the flags", (note,), None, table) if table else None


def _issues(audit: TextAudit) -> Section | None:
    rows = [(f"{one.kind}: {one.name}", *_share_cells(one.share)) for one in audit.issues]
    lines = tuple((one.name, one.share.share) for one in audit.issues if one.kind == "flag")
    table = shortened(("issue", *_SHARE_COLUMNS), rows, _MOST_ROWS)
    if table is None:
        return None
    plot = Plot("Share of each flag", lines[:_MOST_ROWS]) if lines else None
    return Section("Issues", (), plot, table)


def _pairs(audit: TextAudit) -> Section | None:
    rows = [
        (
            f"{one.first.kind}: {one.first.name}",
            f"{one.second.kind}: {one.second.name}",
            str(one.count),
            decimal(one.overlap),
        )
        for one in audit.pairs
    ]
    table = shortened(("issue", "and", "together", "of either"), rows, _MOST_ROWS, 1)
    return Section("Issues that come together", (), None, table) if table else None


def _groups(title: str, groups: tuple[Group, ...]) -> list[Section]:
    if [group.name for group in groups] == [""]:
        return []
    columns = ("name", "reviews", "labelled", "mean rating", "with a flag", "interval")
    rows = [
        (
            group.name or "(none)",
            str(group.num_reviews),
            str(group.num_labelled),
            decimal(group.mean_rating),
            percent(group.flagged),
            percent_range(group.flagged),
            percent(group.detailed),
            percent_range(group.detailed),
        )
        for group in groups
    ]
    note = "Rates of the labelled reviews of each, with 95 % intervals; not projected."
    table = shortened((*columns, "with a detail", "interval"), rows, _MOST_ROWS)
    sections = [Section(title, (note,), None, table)]
    labels = _labels(groups)
    return [*sections, Section(f"{title}: labels", (), None, labels)] if labels else sections


def _labels(groups: tuple[Group, ...]) -> Table | None:
    rated = [group for group in groups if group.labels]
    rows: list[Cells] = [
        (
            group.name or "(none)",
            one.label,
            f"{one.count} of {group.num_labelled}",
            percent(one.share),
            percent_range(one.share),
        )
        for group in rated
        for one in sorted(group.labels, key=lambda one: (-one.count, one.label))[:_MOST_LABELS]
    ]
    return shortened(("name", "label", "labelled", "share", "95 % interval"), rows, _MOST_ROWS, 1)


def _leads(audit: TextAudit) -> Section | None:
    rows = [(one.review_id, one.flag, _excerpt(one.narrative)) for one in audit.leads]
    table = shortened(("review", "flag", "narrative"), rows, _MOST_ROWS, 1, 2)
    note = "The narrative names the flag, the reviewer did not tick it. To be looked at by people."
    return Section("Named but not ticked", (note,), None, table) if table else None


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_CHARACTERS else flat[: _MOST_CHARACTERS - 1] + "…"


def _share_cells(share: Share) -> Cells:
    return str(share.count), percent(share.share), percent_range(share.share), *_projected(share)


def _projected(share: Share) -> tuple[str, str]:
    count = share.projected
    return f"{count.point:.0f}", f"{count.low:.0f} to {count.high:.0f}"
