"""The few generic words that the heuristic annotator knows: how documents call themselves.

No brand, product or category is among them.
"""

DOCUMENT_WORDS = frozenset(
    """
    manual manuals guide guides handbook instruction instructions booklet leaflet documentation
    anleitung bedienungsanleitung betriebsanleitung gebrauchsanleitung gebrauchsanweisung
    montageanleitung handbuch benutzerhandbuch manuel notice manuale istruzioni instrucciones
    instruções handleiding gebruikershandleiding gebruiksaanwijzing bruksanvisning brugsanvisning
    käyttöohje
    """.split()
)
"""What a manual is called in a title, in a few languages."""

TITLE_QUALIFIERS = frozenset(
    """
    user users owner owners operator operators administrator administrators admin installer
    operating operation installation install assembly setup set-up quick start starting getting
    started reference service maintenance safety care repair technical complete full official
    original illustrated online product usage use using short basic advanced and & for of to the a
    an your this these about how welcome with model models type
    für zur zum der die das den pour le la les de du d'emploi d'utilisation mode del para el per il
    l'uso voor het do da
    benutzer utilisateur usuario utente utilizador usuário gebruiker modell modèle modelo
    """.split()
)
"""What may stand beside a document word without being part of a product's name."""

CUTTING_WORDS = frozenset(
    "with for by from including featuring using that which mit avec con met".split()
)
"""What ends a product's name or category; an addition follows."""

NAME_SUFFIXES = frozenset(
    """
    pro plus max ultra mini lite air neo duo edge prime premium classic compact mark mk gen series
    edition generation version
    """.split()
)
"""What follows a model's number and still belongs to its name."""

NUMBERED_PARTS = frozenset(
    """
    chapter section part step figure fig table appendix annex page article volume version revision
    release document doc no nr number ref art code error serial order phase
    question item day week exhibit schedule clause title act scene book paragraph
    kapitel abschnitt teil schritt abbildung tabelle seite chapitre partie capítulo
    """.split()
)
"""What is numbered without being a product."""

GENERIC_THINGS = frozenset(
    "device product unit appliance machine equipment apparatus system instrument tool set".split()
)
"""What manuals call any product; alone it is no category, but ``washing machine`` is one."""

NEVER_CATEGORIES = frozenset(
    """
    model item article document information overview introduction contents features description
    notes chapter page table view edition version
    """.split()
)
"""Heads of phrases that are no products."""

OPENING_HEADINGS = frozenset(
    """
    contents|table of contents|introduction|overview|product overview|features|safety|preface
    foreword|welcome|quick start|getting started|before you begin|before you start|parts supplied
    what is in the box|what's in the box|package contents|important safety information
    important safety instructions|safety instructions|safety information|inhalt
    inhaltsverzeichnis|sicherheitshinweise|sommaire|table des matières|índice|indice
    """.strip()
    .replace("\n", "|")
    .split("|")
)
OPENING_HEADINGS = frozenset(heading.strip() for heading in OPENING_HEADINGS)
"""Headings with which a document begins."""

OPENING_PREFIXES = ("about this ", "about these ", "about the manual", "über diese")
