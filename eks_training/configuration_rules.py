"""Ids of what the parser, the field checks and the suppression engine find; each with its title and its reason."""

from __future__ import annotations

BUILT_IN: dict[str, tuple[str, str]] = {
    "CFG001": ("the file is not readable as YAML", "Nothing can be said about a file before it can be read."),
    "CFG002": ("the same key twice", "YAML readers silently keep one of the two values, and not all the same one."),
    "CFG003": ("unknown key", "A misspelt key that is ignored is a setting that you believe to have made."),
    "CFG004": ("a key is missing", "Some things are never guessed, because a wrong guess costs nodes or data."),
    "CFG005": (
        "a value that a field does not take",
        "Values are not converted behind your back; the message says the form.",
    ),
    "CFG006": (
        "a YAML feature that is not read",
        "Anchors, aliases, merge keys, tags and several documents hide from the reader what the file says.",
    ),
    "SUP001": ("a suppression of an unknown rule", "It hides nothing, and probably was meant for another rule."),
    "SUP002": (
        "a suppression that hides nothing",
        "The fault is gone; the exception should go too, or it hides the next one.",
    ),
    "SUP003": ("a rule that cannot be suppressed", "Without what this rule demands there is no plan to build."),
}
