"""A space from its signature, which is all that a journal holds of it."""

from typing import Any

from lamcts.spaces.described import PLAIN, built, space_of
from lamcts.spaces.fixed import Fixed, keys_of


def recalled(signature: Any) -> Any:
    """Return the space of a signature, but for rules and keys, which are functions; None where it does not say it.

    A signature has tables by their checksum, and of options that are no plain values a text.
    """
    try:
        return _recalled(signature)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _recalled(signature: dict[str, Any]) -> Any:
    kind = signature["kind"]
    if kind in ("keyed", "valid"):  # the same points with the same codes
        return _recalled(signature["inner"])
    if kind == "fixed":
        whole, values = _recalled(signature["whole"]), signature["values"]
        return _same(Fixed(whole, {key: values[str(key)] for key in keys_of(whole) if str(key) in values}), signature)
    if kind == "product":
        members = [_recalled(member) for member in signature["members"]]
        return space_of(signature["names"], members, signature.get("when"))
    if kind == "choice" and not all(type(option) in PLAIN for option in signature["options"]):
        raise ValueError("expected options that JSON can say")
    return _same(built(signature), signature)


def _same(made: Any, signature: dict[str, Any]) -> Any:
    if made.signature() != signature:
        raise ValueError("expected the signature of a space")
    return made
