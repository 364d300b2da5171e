"""The commands of ``scp-ray``, one module each: arguments, one call, what is shown, exit code.

A module has ``HELP`` (unless only a job has it), ``DESCRIPTION``, ``EXAMPLES``,
``add_arguments(parser)`` and ``run(args, settings) -> int``.
"""
