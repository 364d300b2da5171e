"""What becomes a term, script by script and sign by sign."""

import pytest

from scp_ray.records import Stemmer
from scp_ray.retrieval.terms import MAX_TERM_CHARACTERS, terms_of


def terms(text: str) -> str:
    return " | ".join(terms_of(text, Stemmer.NONE))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The camera, the Camera.", "the | camera | the | camera"),
        ("STRASSE straße", "strasse | strasse"),
        ("ﬁle №5 m² ＲＸＣ", "file | no5 | m2 | rxc"),
        ("cafe\u0301 café", "café | café"),
        ("infor\u00admation می\u200cخواهم", "information | میخواهم"),
        ("Bluetooth™ Wi2℠ Galaxy®", "bluetooth | wi2 | galaxy"),
        ("हिन्दी में किताबें", "हिन्दी | में | किताबें"),
        ("한국어 단어", "한국어 | 단어"),
        ("on/off, me@site.com; settings.From", "on | off | me | site | com | settings | from"),
        ("one\u00a0two\u2003three\nfour\u2014five…six", "one | two | three | four | five | six"),
        ("a\ud800b", "a | b"),
    ],
)
def test_words_are_folded_runs_of_letters_and_digits(text: str, expected: str) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    "text", ["", " \n", "-- ... /", "👍🏽 ❤️ 🇩🇪 😀", "'", "™", "\u0301\u200d", "+ _"]
)
def test_signs_alone_give_nothing(text: str) -> None:
    assert terms_of(text, Stemmer.LIGHT) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RXC-225B", "rxc | 225b | rxc225b"),
        ("rxc_225b", "rxc | 225b | rxc225b"),
        ("Wi-Fi", "wi | fi | wifi"),
        ("text-to-speech", "text | to | speech | texttospeech"),
        ("RXC-225B/RXC-226C", "rxc | 225b | rxc225b | rxc | 226c | rxc226c"),
        ("2020-05-17", "2020 | 05 | 17 | 20200517"),
        ("RXC--225B -a b- c -d", "rxc | 225b | a | b | c | d"),
    ],
)
def test_words_linked_by_a_hyphen_are_kept_whole_too(text: str, expected: str) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize("hyphen", "-_‐‑‒–−－﹣")
def test_every_hyphen_links(hyphen: str) -> None:
    assert terms(f"RXC{hyphen}225B") == "rxc | 225b | rxc225b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.5", "3 | 5 | 3.5"),
        ("v2.10.3", "v2 | 10 | 3 | v2.10.3"),
        ("a-2.1", "a | 2 | 1 | a2.1"),
        ("3. 5 .5 5. 3..5", "3 | 5 | 5 | 5 | 3 | 5"),
        ("2.b 17/05", "2 | b | 17 | 05"),
    ],
)
def test_dot_links_digits_and_stays(text: str, expected: str) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Galaxy S9+, S9", "galaxy | s9 | s9+ | s9"),
        ("C++", "c | c++"),
        ("RXC-225+", "rxc | 225 | rxc225 | rxc225+"),
        ("S9+手机", "s9 | s9+ | 手机"),
        ("1+1 +a a+++ a +", "1 | 1 | a | a | a"),
    ],
)
def test_plus_behind_a_word_stays_beside_the_bare_word(text: str, expected: str) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize("apostrophe", ["'", "’", "ʼ", "＇"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("manufacturer's S10's", "manufacturer | s10"),
        ("DON'T we're I'm they'll", "dont | were | im | theyll"),
        ("l'eau O'Brien", "l | eau | leau | o | brien | obrien"),
        ("users' 'quoted' ''", "users | quoted"),
        ("'s 't", "s | t"),
    ],
)
def test_apostrophe(apostrophe: str, text: str, expected: str) -> None:
    assert terms(text.replace("'", apostrophe)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京タワー", "東京 | 京タ | タワ | ワー"),
        ("东京2020年", "东京 | 2020 | 年"),
        ("ﾊﾞｽ バス", "バス | バス"),
        ("か\u309aき\u309aく", "か\u309aき\u309a | き\u309aく"),
        ("葛\U000e0100城", "葛城"),
        ("ที่นี่", "ที่นี่"),
        ("ເມືອງ", "ເມື | ມືອ | ອງ"),
        ("RXC-225B型", "rxc | 225b | rxc225b | 型"),
        ("東 京", "東 | 京"),
    ],
)
def test_scripts_without_spaces_give_pairs_of_characters(text: str, expected: str) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("batteries", "battery"),
        ("CAMERAS", "camera"),
        ("images", "image"),
        ("degrees", "degree"),
        ("pays", "pay"),
        ("ties", "ty"),
        ("zombaies", "zombaie"),
        ("bus", "bus"),
        ("glass", "glass"),
        ("as", "as"),
        ("camera", "camera"),
        ("s9s", "s9s"),
        ("cafés", "cafés"),
        ("maisons’", "maison"),
    ],
)
def test_light_stemmer_takes_english_plurals_off(word: str, stem: str) -> None:
    assert terms_of(word, Stemmer.LIGHT) == [stem]


def test_light_stemmer_works_on_parts_and_whole() -> None:
    assert terms_of("pop-ups", Stemmer.LIGHT) == ["pop", "up", "popup"]
    assert terms_of("pop-ups", Stemmer.NONE) == ["pop", "ups", "popups"]


def test_long_terms_are_cut_alike() -> None:
    blob = "ab" * 500_000
    assert terms_of(blob, Stemmer.LIGHT) == [blob[:MAX_TERM_CHARACTERS]]
    assert terms_of(blob + "c", Stemmer.LIGHT) == terms_of(blob, Stemmer.LIGHT)
    assert terms_of("-".join(blob[:100]), Stemmer.NONE)[-1] == blob[:MAX_TERM_CHARACTERS]


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\uff9e\u0316"])
def test_piled_up_marks_are_cut(marks: str) -> None:
    """Otherwise normalising them takes hours: its time is quadratic in their number."""
    (term,) = terms_of("e" + marks * 500_000, Stemmer.NONE)
    assert len(term) < MAX_TERM_CHARACTERS


def test_marks_with_ignorable_characters_between_are_one_run() -> None:
    marks = "\u0316\u0301" * 15 + "\u200b"
    (term,) = terms_of("a" + marks * 1000, Stemmer.NONE)
    assert len(term) <= 32
