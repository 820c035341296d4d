"""Tsuzuki follows everything that comes out in installments."""

__version__ = "0.1.0.dev0"
