"""Tables."""


def text(rows):
    return ""
