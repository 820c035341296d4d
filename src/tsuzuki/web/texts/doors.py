"""What the ways in and out say."""

TEXTS = {
    # the first page
    "home.title": "Tsuzuki, to be continued",
    "home.claim": "To be continued, and you will know when.",
    "home.what": "Tsuzuki follows everything that comes out in installments: manga, webcomics, blogs, any web "
    "feed. It calls each source politely, keeps each installment exactly once, and puts it where you read it.",
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
    "setup.code_hint": "The terminal that started the server shows it, and its log in the line nobody_can_sign_in_yet.",
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
    "invite.over": "This invitation is no longer valid",
    "invite.over_text": "It was used already, withdrawn, or has expired. Whoever sent it can make another one.",
    "invite.sign_in": "Sign in",
    "invite.code": "Code of your invitation",
    "invite.done": "Make my account",
    # fields that several forms have
    "field.username": "Username",
    "field.password": "Password",
    "field.repeat": "Password again",
    "field.password_hint": "At least {least} characters. A few words that only you would put together are best.",
    "field.username_hint": "Small letters, digits and . _ @ + -",
    "field.differ": "The two passwords differ.",
    # why a sign-in at the provider came to nothing
    "reason.oidc_off": "There is no identity provider to sign in at.",
    "reason.oidc_denied": "The identity provider did not let you in, or you said no there.",
    "reason.oidc_expired": "That sign-in took too long, or was begun in another browser. Try again.",
    "reason.oidc_failed": "The identity provider does not answer as it should. Try again later.",
    "reason.oidc_not_allowed": "That identity may not sign in here.",
    "reason.oidc_not_linked": "No account is linked to that identity. Sign in with your password and link it.",
    "reason.oidc_taken": "That identity is linked to another account.",
    "reason.oidc_disabled": "This account is disabled.",
}
