"""One file an experiment. Each has `run(outcome, binary)`."""
