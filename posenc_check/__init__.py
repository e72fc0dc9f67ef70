"""Contracts that an implementation of a position encoding must satisfy."""

__version__ = "0.1.0"
