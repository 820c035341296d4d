"""Benchmarks. `python -m bench.NAME` prints ratios against a reference that is measured in the same run."""

import logging
import sys

import structlog

# Only figures are printed; and a worker that logs to a pipe that nobody reads would stop working.
# Tests that import a part of this read what is logged.
if "pytest" not in sys.modules:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
