"""Rookery."""
