"""What people and programs call secrets. Pure data."""

from __future__ import annotations

NAME_OF_ONE = (
    r"(?:api[ _-]?key|access[ _-]?key(?:[ _-]?id)?"
    r"|(?:secret|private|signing|encryption|auth|subscription|shared|account|storage)[ _-]?key"
    r"|token|secret|passw(?:or)?d|passphrase|credential|cookie|psk)"
)
# The same names, and some that are one only before a sign. Each begins with a set of letters, by which the search for
# it is four times as fast; the long s is what ignoring case takes for an s.
NAME_BEFORE_SIGN = (
    r"[AaCcEePpSs\u017fTt](?i:(?<=a)(?:pi[ _-]?key|ccess[ _-]?key(?:[ _-]?id)?|uth[ _-]?key)"
    r"|(?<=s)(?:ecret(?:[ _-]?key)?|igning[ _-]?key|ubscription[ _-]?key|hared[ _-]?key)"
    r"|(?<=p)(?:rivate[ _-]?key|assw(?:or)?d|assphrase)|(?<=e)ncryption[ _-]?key|(?<=t)oken|(?<=c)(?:redential|ookie))"
)
MORE_BEFORE_SIGN = (
    r"[AaMmPpSs\u017f](?i:(?<=p)(?:wd|ass|sk)|(?<=a)(?:uth|ccount[_-]?key)|(?<=s)ecret_key_base|(?<=m)aster[_-]?key)"
)
# Those of which the value decides as well: a folder of theirs, or a word of a program, is none.
_OF_KEYS = ("app", "hmac", "fernet", "storage", "unseal", "service", "db", "database", "client")
_OF_ACCESS = ("gh", "github", "gitlab", "azure")
MORE_NAMES = (
    rf"(?:(?:{'|'.join(_OF_KEYS)})[_-]?key|(?:{'|'.join(_OF_ACCESS)})[_-]?pat|_pat|_pw|key[_-]?pass|secret[_-]id"
    "|credentials)"
)
MORE_NEEDS = (
    *(f"{owner}{line}key" for owner in _OF_KEYS for line in ("_", "-", "")),
    *(
        "_pat",
        "-pat",
        "hpat",
        "bpat",
        "epat",
        "_pw",
        "key_pass",
        "key-pass",
        "keypass",
        "secret_id",
        "secret-id",
        "credentials",
    ),
)
# "Password" in other languages, and "key" where only a program's key can be meant. Small letters.
IN_OTHER_LANGUAGES = (
    *(
        "passwort",
        "kennwort",
        "zugangscode",
        "api-schl\u00fcssel",
        "mot de passe",
        "mdp",
        "cl\u00e9 api",
        "cl\u00e9 secr\u00e8te",
    ),
    *("contrase\u00f1a", "contrasena", "contrasenya", "clave secreta", "clave de acceso", "clave api", "senha"),
    *("palavra-passe", "palavra passe", "chave secreta", "parola", "parol\u0103", "chiave segreta", "wachtwoord"),
    *("l\u00f6senord", "losenord", "passord", "adgangskode", "kodeord", "salasana", "has\u0142o", "haslo", "heslo"),
    *(
        "jelsz\u00f3",
        "jelszo",
        "\u015fifre",
        "sifre",
        "slapta\u017eodis",
        "lozinka",
        "zaporka",
        "geslo",
        "parool",
        "salas\u00f5na",
    ),
    *(
        "lykilor\u00f0",
        "pasahitza",
        "kata sandi",
        "m\u1eadt kh\u1ea9u",
        "\u043f\u0430\u0440\u043e\u043b\u044c",
        "\u043f\u0430\u0440\u043e\u043b\u0430",
    ),
    *(
        "\u043b\u043e\u0437\u0438\u043d\u043a\u0430",
        "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2",
        "\u5bc6\u7801",
        "\u5bc6\u78bc",
        "\u53e3\u4ee4",
        "\u79d8\u5bc6\u9375",
    ),
    *(
        "\u30d1\u30b9\u30ef\u30fc\u30c9",
        "\u6697\u8a3c\u756a\u53f7",
        "\ube44\ubc00\ubc88\ud638",
        "\uc554\ud638",
        "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",
    ),
    *(
        "\u092a\u093e\u0938\u0935\u0930\u094d\u0921",
        "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
        "\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631",
    ),
    *("\u05e1\u05d9\u05e1\u05de\u05d4", "\u05e1\u05d9\u05e1\u05de\u05d0"),
)
HEADER_OF_ONE = rf"[\w-]{{0,40}}?(?:{NAME_OF_ONE.replace('[ _-]', '[_-]')}|authorization)[\w-]{{0,20}}"
