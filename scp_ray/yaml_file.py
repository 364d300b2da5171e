"""Reads a file of YAML that people write: a key that stands twice in a map is refused."""

from pathlib import Path
from typing import Any

import yaml
from typing_extensions import override

from scp_ray.errors import ConfigError


class _OneOfEachKey(yaml.SafeLoader):
    """A loader that does not let the last of two equal keys win in silence."""

    @override
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in seen:
                message = f"the key {key.value!r} stands twice in one map"
                raise yaml.composer.ComposerError(None, None, message, key.start_mark)
            seen.add((key.tag, key.value))
        return node


def read_yaml(file: Path, name: str) -> Any:  # noqa: ANN401 - the caller checks its form
    """Return what a file of YAML holds; None where it is empty.

    Args:
        file: The file.
        name: What messages call it.

    Raises:
        ConfigError: If it cannot be read, is not YAML, or has a key twice in one map.
    """
    try:
        return yaml.load(file.read_text(encoding="utf-8"), _OneOfEachKey)  # noqa: S506 - a safe one
    except OSError as error:
        message = f"cannot read {name}: {error.strerror}"
        raise ConfigError(message) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        message = f"{name} is not YAML: {error}"
        raise ConfigError(message) from error
