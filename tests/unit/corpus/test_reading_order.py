"""The order in which the words of a page are read."""

from scp_ray.corpus.reading_order import Box, lines_in_reading_order


def words(text: str, x: float, top: float, size: float = 10) -> list[Box]:
    """Place words on a line, each letter half as wide as high."""
    boxes = []
    for word in text.split():
        width = len(word) * size / 2
        boxes.append(Box(x, x + width, top, top + size, word, size))
        x += width + size / 4
    return boxes


def column(name: str, x: float, top: float, num_lines: int, pitch: float = 12) -> list[Box]:
    """Place lines of six words below one another."""
    return [
        box
        for line in range(num_lines)
        for box in words(f"{name}{line} of the prose column here", x, top + line * pitch)
    ]


def read(boxes: list[Box]) -> list[str]:
    return [" ".join(box.text for box in line) for line in lines_in_reading_order(boxes)]


def test_an_empty_page_has_no_lines() -> None:
    assert lines_in_reading_order([]) == []


def test_lines_go_down_and_words_go_right() -> None:
    boxes = words("third line", 50, 80) + words("first line", 50, 40) + words("second", 90, 60)
    assert read(list(reversed(boxes))) == ["first line", "second", "third line"]


def test_two_columns_are_read_one_after_the_other() -> None:
    boxes = column("left", 50, 100, 10) + column("right", 320, 105, 10)
    lines = read(boxes)
    assert [line.split()[0] for line in lines] == [
        *(f"left{i}" for i in range(10)),
        *(f"right{i}" for i in range(10)),
    ]


def test_a_title_across_the_columns_comes_first_and_a_note_last() -> None:
    boxes = (
        words("A title across both of the columns of the page here", 50, 60, 20)
        + column("left", 50, 100, 9)
        + column("right", 320, 100, 9)
        + words("A note below both columns that is as wide as the page itself is", 50, 260)
    )
    firsts = [line.split()[0] for line in read(boxes)]
    assert firsts == ["A", *(f"left{i}" for i in range(9)), *(f"right{i}" for i in range(9)), "A"]


def test_three_columns() -> None:
    boxes = column("c", 400, 50, 8) + column("a", 0, 50, 8) + column("b", 200, 50, 8)
    assert [line[0] for line in read(boxes)] == ["a"] * 8 + ["b"] * 8 + ["c"] * 8


def test_labels_beside_values_are_read_row_by_row() -> None:
    boxes = [
        box
        for line in range(12)
        for box in words(f"Label{line}", 50, 50 + 12 * line)
        + words(f"value {line} of this long list of values", 300, 50 + 12 * line)
    ]
    assert read(boxes)[3] == "Label3 value 3 of this long list of values"


def test_a_few_lines_side_by_side_are_read_row_by_row() -> None:
    boxes = column("left", 50, 50, 3) + column("right", 320, 50, 3)
    assert read(boxes)[0].split()[6] == "right0"


def test_one_column_of_prose_is_read_line_by_line() -> None:
    texts = [f"line {'x' * i} of {'y' * (9 - i)} ordinary prose {i}" for i in range(10)]
    boxes = [box for i, text in enumerate(texts) for box in words(text, 50, 12 * i)]
    assert read(boxes) == [" ".join(text.split()) for text in texts]


def test_word_spaces_below_one_another_are_no_gutter() -> None:
    boxes = [box for i in range(10) for box in words("aaaa bbbb cccc dddd eeee ffff", 50, 12 * i)]
    assert read(boxes) == ["aaaa bbbb cccc dddd eeee ffff"] * 10


def test_a_raised_index_stays_in_its_line() -> None:
    boxes = [
        *words("Area 5 m", 50, 100),
        Box(95, 98, 97, 103, "2", 6),
        *words("net", 105, 100),
    ]
    assert read(boxes) == ["Area 5 m 2 net"]


def test_a_table_stands_apart_from_the_words_beside_it() -> None:
    table = Box(200, 400, 50, 100, "| a |", 0.0, is_table=True)
    lines = lines_in_reading_order([*words("beside", 50, 48), table, *words("below", 50, 110)])
    assert [[box.text for box in line] for line in lines] == [["beside"], ["| a |"], ["below"]]
