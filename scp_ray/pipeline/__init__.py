"""From a corpus to a published generation: plan, stages, executors, report."""
