"""The grid: every cell that the studies ask for, each once."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from scp_ray.errors import ConfigError
from scp_ray.evaluation.ablation.config import (
    MOST_CELLS,
    AblationConfig,
    AnnotatorKind,
    CellSetting,
    StudyConfig,
    VariantSetting,
    checked_setting,
)


@dataclass(frozen=True, slots=True)
class StudyCells:
    """The settings that one study compares.

    Attributes:
        name: Of the study.
        factors: What it varies, in the order of the file; empty where its cells have names.
        sets: Names of the sets that it is measured on.
        settings: In the order of the file, each with its name; may have the base.
    """

    name: str
    factors: tuple[str, ...]
    sets: tuple[str, ...]
    settings: Mapping[CellSetting, str]


@dataclass(frozen=True, slots=True)
class Grid:
    """All that is measured.

    Attributes:
        base: What every study is compared with.
        studies: In the order of the file.
        cells: By name of the set, the distinct settings that are measured on it; the base first.
    """

    base: CellSetting
    studies: tuple[StudyCells, ...]
    cells: Mapping[str, tuple[CellSetting, ...]]

    @property
    def num_cells(self) -> int:
        """Cells over all sets."""
        return sum(len(settings) for settings in self.cells.values())


def make_grid(config: AblationConfig, product_values: Mapping[str, Any]) -> Grid:
    """Lay out the cells of an ablation.

    Args:
        config: What is asked.
        product_values: Factors as the product has them, see ``product_setting``.

    Raises:
        ConfigError: If a factor is unknown or a value out of range, if the annotator ``true_name``
            is asked for on a set without names, or if there are too many cells.
    """
    base_values = {**product_values, **config.base}
    base = checked_setting(base_values, "base")
    _refuse_huge(config)
    studies = tuple(_study(study, base_values, tuple(config.sets)) for study in config.studies)
    cells = {
        name: tuple(
            dict.fromkeys(
                [base, *(one for study in studies if name in study.sets for one in study.settings)]
            )
        )
        for name in config.sets
    }
    for name, settings in cells.items():
        needs_names = any(one.annotator is AnnotatorKind.TRUE_NAME for one in settings)
        if needs_names and config.sets[name].true_names is None:
            message = f"sets.{name}.true_names is missing, which the annotator true_name needs"
            raise ConfigError(message)
    return Grid(base, studies, cells)


def setting_key(setting: VariantSetting, *identity: str) -> str:
    """Name a setting and what it is applied to, by a hash of all of it.

    Args:
        setting: A cell's, or a variant's.
        identity: What else decides the result: contents, revisions.
    """
    parts = [setting.model_dump_json(), *identity]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def differences(setting: CellSetting, base: CellSetting) -> dict[str, Any]:
    """Return the factors in which a setting differs from the base, JSON-ready."""
    values, others = setting.model_dump(mode="json"), base.model_dump(mode="json")
    return {name: value for name, value in values.items() if value != others[name]}


def factor_values(setting: CellSetting, factors: Iterable[str]) -> dict[str, Any]:
    """Return the values of some factors, JSON-ready."""
    values = setting.model_dump(mode="json")
    return {name: values[name] for name in factors}


def show_value(value: Any) -> str:  # noqa: ANN401 - of JSON
    """Return the value of a factor, for people."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " + ".join(map(show_value, value)) or "none"
    return str(value)


def _study(study: StudyConfig, base: Mapping[str, Any], sets: tuple[str, ...]) -> StudyCells:
    settings: dict[CellSetting, str] = {}
    for name, changes in _changes(study):
        where = f"study {study.name!r}" + (f", cell {name!r}" if name else "")
        setting = checked_setting({**base, **changes}, where)
        shown = ", ".join(map(show_value, factor_values(setting, study.vary).values()))
        if name and setting in settings:
            message = f"{where}: the same factors as cell {settings[setting]!r}"
            raise ConfigError(message)
        settings.setdefault(setting, name or shown)
    wanted = sets if study.sets is None else tuple(name for name in sets if name in study.sets)
    return StudyCells(study.name, tuple(study.vary), wanted, settings)


def _changes(study: StudyConfig) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what each cell changes, and its name where it has one."""
    if study.cells:
        yield from study.cells.items()
        return
    for values in product(*study.vary.values()):
        yield "", dict(zip(study.vary, values, strict=True))


def _refuse_huge(config: AblationConfig) -> None:
    """Count before anything is made: a cross grows fast."""
    num_cells = 0
    for study in config.studies:
        size = len(study.cells) or prod(len(values) for values in study.vary.values())
        num_cells += size * (len(config.sets) if study.sets is None else len(study.sets))
    if num_cells > MOST_CELLS:
        message = f"the studies ask for {num_cells} cells, and at most {MOST_CELLS} are measured"
        raise ConfigError(message)
