"""Waits for another process of the service, and tells its failure without its stack trace."""

import asyncio
import logging
from typing import Any

from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentResponse, DeploymentResponseGenerator

from scp_ray.errors import ShardUnavailableError

_LOGGER = logging.getLogger("scp_ray.serve")


async def answer_of(
    response: "DeploymentResponse[Any] | DeploymentResponseGenerator[Any]",
) -> Any:  # noqa: ANN401 - of any method
    """Return the answer; cancelling cancels the call there too.

    Raises:
        Exception: The one that was raised there.
        ShardUnavailableError: If the process has died or cannot be reached.
    """
    try:
        return await response
    except asyncio.CancelledError:
        response.cancel()  # type: ignore[no-untyped-call]
        raise
    except RayTaskError as error:
        raise error.cause from None
    except (RayError, RayServeException) as error:
        _LOGGER.warning("a call of another process failed: %s", error)
        message = f"the process that was asked failed ({type(error).__name__})"
        raise ShardUnavailableError(message) from None
