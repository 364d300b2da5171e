"""The port between HTTP and the query: what the front's routes ask for."""

from typing import Protocol

from scp_ray.serve.models import IndexInfo, QueryReply, QueryRequest


class QueryService(Protocol):
    """Answers questions over the generation that is served."""

    async def answer(self, request: QueryRequest) -> QueryReply:
        """Answer one question by its deadline. Cancelling the call ends its work.

        Raises:
            ConfigError: If the question cannot be asked of this index.
            ShardUnavailableError: If no group answered, or ``strict`` and one did not.
            NotReadyError: If no generation is open yet.
        """
        ...

    async def check(self) -> None:
        """Search every shard once.

        Raises:
            ShardUnavailableError: If one does not answer.
            NotReadyError: If no generation is open yet.
        """
        ...

    async def reload(self) -> IndexInfo:
        """Look for a new generation now, without waiting until it is served.

        Raises:
            StorageError: If the index cannot be read.
            NotReadyError: If no generation is open yet.
        """
        ...

    def about(self) -> IndexInfo:
        """Say what is served.

        Raises:
            NotReadyError: If no generation is open yet.
        """
        ...
