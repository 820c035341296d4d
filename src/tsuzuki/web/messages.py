"""What the pages say, in one place, so that they can be said in another language one day.

Sentences about what somebody typed come from the services; these are the pages' own.
"""

from collections.abc import Mapping
from types import MappingProxyType

MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        # every page
        "layout.skip": "Skip to the content",
        "layout.main": "Main",
        "layout.account": "Account",
        "layout.sign_in": "Sign in",
        "layout.sign_out": "Sign out",
        # the first page
        "home.title": "Tsuzuki, to be continued",
        "home.claim": "To be continued, and you will know when.",
        "home.what": "Tsuzuki follows everything that comes out in installments: manga, webcomics, blogs, any web "
        "feed. It calls each source politely, keeps each installment exactly once, and puts it where you read it.",
        "home.hello": "You are signed in as {name}.",
        "home.account": "Your account",
        "home.nobody": "Nobody can sign in here yet.",
        "home.set_up": "Set up this server",
        "home.api": "Read the API's documentation",
        "home.openapi": "OpenAPI document",
        "home.server": "This server",
        "home.version": "Version",
        "home.database": "Database",
        "home.alive": "Alive",
        "home.ready": "Ready",
        "home.numbers": "Numbers",
        # the first visit
        "setup.title": "Set up this server",
        "setup.lead": "You become its administrator. Afterwards you can invite others.",
        "setup.code": "Code",
        "setup.code_hint": "It is in the server's log, in the line that says nobody_can_sign_in_yet.",
        "setup.done": "Set up and sign in",
        # signing in
        "sign_in.title": "Sign in",
        "sign_in.button": "Sign in",
        "sign_in.or": "or",
        "sign_in.with": "Sign in with {provider}",
        "sign_in.name_missing": "Type your username.",
        "to_provider.title": "On to {provider}",
        "to_provider.lead": "You sign in there and come back by yourself.",
        "to_provider.go": "Continue to {provider}",
        # an invitation
        "invite.title": "You are invited",
        "invite.lead": "Choose a name and a password, and you are in.",
        "invite.code": "Code of your invitation",
        "invite.done": "Make my account",
        # fields that several forms have
        "field.username": "Username",
        "field.password": "Password",
        "field.repeat": "Password again",
        "field.password_hint": "At least {least} characters. A few words that only you would put together are best.",
        "field.username_hint": "Small letters, digits and . _ @ + -",
        "field.differ": "The two passwords differ.",
        # one's own account
        "account.title": "Your account",
        "account.name": "Name",
        "account.role": "Role",
        "account.tenant": "Belongs to",
        "account.email": "E-mail",
        "account.role_admin": "Administrator",
        "account.role_reader": "Reader",
        "devices.title": "Devices",
        "devices.lead": "Where you are signed in. A device that you do not use for 30 days is signed out by itself.",
        "devices.this": "this device",
        "devices.used": "last used {time}",
        "devices.since": "since {time}",
        "devices.from": "from {address}",
        "devices.end": "Sign out",
        "devices.end_name": "Sign out {device}, last used {time}",
        "devices.end_others": "Sign out all others",
        "devices.end_all": "Sign out everywhere",
        "password.title": "Password",
        "password.lead": "When you change it, every other device is signed out. Tokens go on working.",
        "password.none": "You have no password yet: you sign in at {provider}. With one you can sign in here as well.",
        "password.none_open": "You have no password yet. Set one, and nobody comes in without it.",
        "password.current": "Current password",
        "password.new": "New password",
        "password.repeat": "New password again",
        "password.change": "Change password",
        "password.set": "Set password",
        "identity.title": "Sign-in with {provider}",
        "identity.linked": "Your account is linked: you can sign in with {provider}.",
        "identity.unlinked": "Link your account, and you can sign in with {provider} instead of your password.",
        "identity.needs_password": "Set a password before you unlink, or you could not sign in again.",
        "identity.link": "Link",
        "identity.unlink": "Unlink",
        "identity.old_provider": "your identity provider",
        "tokens.title": "Tokens",
        "tokens.lead": "For programs that use the API as you. A token is shown once, when it is made.",
        "tokens.none": "You have none.",
        "tokens.made": "made {time}",
        "tokens.used": "last used {time}",
        "tokens.unused": "never used",
        "tokens.ends": "ends {time}",
        "tokens.ended": "ended {time}",
        "tokens.endless": "never ends",
        "tokens.revoked": "revoked {time}",
        "tokens.device": "device password",
        "tokens.revoke": "Revoke",
        "tokens.revoke_name": "Revoke {name}",
        "tokens.new": "Make a token",
        "tokens.name": "What is it for?",
        "tokens.name_hint": "For instance: backup script",
        "tokens.name_problem": "Say in 1 to {most} characters what the token is for.",
        "tokens.scopes": "It may",
        "tokens.scope_read": "read",
        "tokens.scope_write": "write",
        "tokens.scope_admin": "admin: run this server",
        "tokens.scopes_missing": "Choose at least one.",
        "tokens.life": "It ends",
        "tokens.life_30": "in 30 days",
        "tokens.life_90": "in 90 days",
        "tokens.life_365": "in a year",
        "tokens.life_never": "never",
        "tokens.life_problem": "Choose when the token ends.",
        "tokens.create": "Make token",
        "token.title": "Your new token",
        "token.lead": "Copy it now: it is not shown again. Whoever has it can do what it may.",
        "token.label": "Token {name}",
        "token.back": "I have copied it",
        # what was done
        "done.signed_out": "You are signed out.",
        "done.signed_out_everywhere": "You are signed out everywhere.",
        "done.device": "That device is signed out.",
        "done.others": "All other devices are signed out.",
        "done.password": "Your password is changed. Every other device is signed out.",
        "done.revoked": "The token is revoked.",
        "done.linked": "Your account is linked.",
        "done.unlinked": "Your account is no longer linked.",
        # why a sign-in at the provider came to nothing
        "reason.oidc_off": "There is no identity provider to sign in at.",
        "reason.oidc_denied": "The identity provider did not let you in, or you said no there.",
        "reason.oidc_expired": "That sign-in took too long, or was begun in another browser. Try again.",
        "reason.oidc_failed": "The identity provider does not answer as it should. Try again later.",
        "reason.oidc_not_allowed": "That identity may not sign in here.",
        "reason.oidc_not_linked": "No account is linked to that identity. Sign in with your password and link it.",
        "reason.oidc_taken": "That identity is linked to another account.",
        "reason.oidc_disabled": "This account is disabled.",
        # trouble
        "trouble.wait": "Too many attempts. Try again in {wait}.",
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
    }
)

_MINUTES_FROM_S = 120


def say(key: str, **values: object) -> str:
    """The message of this key with the values in it; KeyError when there is none."""
    return MESSAGES[key].format(**values)


def said(kind: str, word: str | None) -> str | None:
    """The message `kind.word` where the word is one of ours: what an address says is never shown itself."""
    return MESSAGES.get(f"{kind}.{word}")


def wait_in_words(seconds: int) -> str:
    """`45 seconds`, `5 minutes`: never less than it takes."""
    if seconds >= _MINUTES_FROM_S:
        return say("wait.minutes", count=-(-seconds // 60))
    return say("wait.second") if seconds == 1 else say("wait.seconds", count=seconds)
