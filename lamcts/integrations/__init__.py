"""Lamcts inside other libraries; each module needs its library when it is imported."""
