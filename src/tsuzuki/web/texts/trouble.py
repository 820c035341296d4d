"""What was done, and what went wrong."""

TEXTS = {
    # trouble
    "trouble.wait": "Too many attempts. Try again in {wait}.",
    "trouble.again": "Try again in {wait}.",
    "trouble.form": "This form cannot be read.",
    "wait.second": "1 second",
    "wait.seconds": "{count} seconds",
    "wait.minutes": "{count} minutes",
    # an error
    "error.home": "To the first page",
    "error.title_403": "You may not",
    "error.title_404": "Nothing here",
    "error.title_405": "Not like this",
    "error.title_429": "Not so fast",
    "error.title_500": "That was our fault",
    "error.title_503": "Not right now",
    # what was done
    "done.signed_out": "You are signed out.",
    "done.signed_out_everywhere": "You are signed out everywhere.",
    "done.device": "That device is signed out.",
    "done.others": "All other devices are signed out.",
    "done.password": "Your password is changed. Every other device is signed out.",
    "done.revoked": "The token is revoked.",
    "done.linked": "Your account is linked.",
    "done.unlinked": "Your account is no longer linked.",
}
