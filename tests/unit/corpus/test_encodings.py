"""Detection over languages: the right text, or none."""

import pytest

from scp_ray.corpus.decode import decode_text
from scp_ray.corpus.encodings import guess_encoding, non_ascii_lines, utf8_share

MANUALS = {
    "cp1252": [
        "Press the button – wait 5 seconds – until the “ready” light is on. Don’t immerse it.",
        "Drücken Sie die Taste für mindestens fünf Sekunden, bis das Gerät ertönt. Größe: 5 m².",
        "Le lave-vaisselle fonctionne en mode éco. Vérifiez l'arrivée d'eau, où qu'elle aille",
        "Antes del primer uso, lea las instrucciones. ¿Qué hacer? Límpielo con un paño húmedo.",
        "Läs bruksanvisningen före första användningen. Apparaten får inte sänkas ned i vatten.",
        "Antes da primeira utilização, leia as instruções. Prima o botão de alimentação e aguarde.",
    ],
    "cp1250": [
        """Před prvním použitím si přečtěte návod. Stiskněte tlačítko napájení a počkejte, dokud se
        nerozsvítí zelená kontrolka. Zařízení nesmí být ponořeno do vody. Čištění provádějte
        vlhkým hadříkem; nepoužívejte rozpouštědla.""",
        """Az első használat előtt olvassa el az útmutatót. Nyomja meg a bekapcsológombot, és
        várjon, amíg a zöld jelzőfény kigyullad. A készüléket nem szabad vízbe meríteni. Tisztítsa
        nedves ruhával, ne használjon oldószert.""",
        "Naciśnij przycisk zasilania, aby włączyć urządzenie. Proszę się upewnić, że jest czyste.",
    ],
    "cp1254": [
        "İlk kullanımdan önce kılavuzu okuyun. Güç düğmesine basın ve yeşil ışığı bekleyin."
    ],
    "cp1257": [
        """Prieš naudodami pirmą kartą perskaitykite instrukciją. Paspauskite maitinimo mygtuką ir
        palaukite, kol užsidegs žalia lemputė. Prietaiso negalima merkti į vandenį."""
    ],
    "cp850": ["Lesen Sie vor dem ersten Gebrauch die Anleitung. Drücken Sie die Taste für Füße."],
    "mac_roman": [
        "Drücken Sie die grüne Taste. Das Gerät darf nicht in Wasser. Größe, Maße, Füße."
    ],
    "cp1251": ["Нажмите кнопку питания, чтобы включить устройство. Убедитесь, что оно чистое."],
    "koi8_r": ["Нажмите кнопку питания, чтобы включить устройство. Убедитесь, что оно чистое."],
    "cp1253": ["Πατήστε το κουμπί λειτουργίας για να ενεργοποιήσετε τη συσκευή."],
    "cp1255": ["לפני השימוש הראשון קרא את ההוראות. לחץ על כפתור ההפעלה והמתן."],
    "cp1256": ["قبل الاستخدام الأول اقرأ التعليمات. اضغط على زر الطاقة وانتظر."],
    "cp874": ["ก่อนใช้งานครั้งแรกโปรดอ่านคำแนะนำ กดปุ่มเปิดปิดและรอจนกว่าไฟสีเขียวจะสว่าง"],
    "cp932": ["電源ボタンを押して機器をオンにします。清潔であることを確認してください。"],
    "euc_jp": ["電源ボタンを押して機器をオンにします。清潔であることを確認してください。"],
    "gb18030": ["按下电源按钮打开设备。请确保设备清洁。并且检查水箱是否已满。"],
    "big5": ["按下電源按鈕打開設備。請確保設備清潔。並且檢查水箱是否已滿。"],
    "cp949": ["전원 버튼을 눌러 장치를 켭니다. 깨끗한지 확인하십시오."],
}


@pytest.mark.parametrize(
    ("encoding", "text"), [(name, text) for name, texts in MANUALS.items() for text in texts]
)
def test_prose_is_read_in_its_own_encoding(encoding: str, text: str) -> None:
    assert decode_text(text.encode(encoding)) == text


@pytest.mark.parametrize("text", ["Café", "5 °C to 40 °C, ± 10 %", "Grüße", "© 2024 Acme"])
def test_a_text_too_short_to_show_its_language_is_western(text: str) -> None:
    assert guess_encoding(text.encode("cp1252")) == "cp1252"


@pytest.mark.parametrize(
    ("text", "encoding"), [("fünf", "mac_roman"), ("按下电源按钮打开", "gb18030")]
)
def test_no_evidence_and_two_equally_likely_texts_are_no_guess(text: str, encoding: str) -> None:
    # "fünf" in Mac Roman is "fźnf" in cp1250; the Chinese text is also a row of Korean syllables.
    assert guess_encoding(text.encode(encoding)) is None


def test_two_encodings_of_one_text_are_no_rivals() -> None:
    data = "Le lave-vaisselle fonctionne en mode éco. Vér".encode("cp1252")
    assert data.decode(guess_encoding(data) or "ascii") == data.decode("cp1252")


def test_only_lines_that_are_not_ascii_are_evidence() -> None:
    data = b"plain\r\n" * 100_000 + b"gr\xfcn\r\n" + b"plain\n" + b"bla\xfc"
    assert non_ascii_lines(data) == b"gr\xfcn\r\nbla\xfc"


def test_evidence_is_bounded() -> None:
    assert len(non_ascii_lines(b"gr\xfcne Taste\n" * 100_000)) < 64 * 1024


def test_one_accent_in_a_long_ascii_text_is_found() -> None:
    text = "Press and hold the button until the lamp is on.\n" * 5000 + "The café mode is on.\n"
    assert decode_text(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("sample", "share"), [("é".encode(), 1.0), (b"\xe9a", 0.0), (b"\xe9a" + "é".encode(), 0.5)]
)
def test_utf8_share_counts_sequences(sample: bytes, share: float) -> None:
    assert utf8_share(sample) == share
