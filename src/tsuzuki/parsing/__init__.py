"""Processes for work on documents from outside, each call within bounds of computing time and memory."""
