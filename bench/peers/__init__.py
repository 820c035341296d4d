"""Tsuzuki beside Miniflux, Fusion and yarr, on the same feeds in the same run: `python -m bench.peers --help`."""
