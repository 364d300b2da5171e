"""Optional end tags."""

import pytest

from scp_ray.corpus.html_tree import Page


@pytest.mark.parametrize(
    ("html", "tree"),
    [
        ("<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</li></ul>"),
        ("<p>a<p>b", "<p>a</p><p>b</p>"),
        ("<p>a<div>b</div>c</p>", "<p>a</p><div>b</div>c"),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt><dd>d</dd></dl>"),
        (
            "<table><tr><td>1<td>2<tr><th>3<td>4</table>",
            "<table><tr><td>1</td><td>2</td></tr><tr><th>3</th><td>4</td></tr></table>",
        ),
        (
            "<table><thead><tr><th>h<tbody><tr><td>1</table>",
            "<table><thead><tr><th>h</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>",
        ),
        ("<ul><li><p>a<li>b</ul>", "<ul><li><p>a</p></li><li>b</li></ul>"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("<td>a<table><tr><td>b</table>", "<td>a<table><tr><td>b</td></tr></table></td>"),
        ("<ul><li>a</li><li>b</li></ul>", "<ul><li>a</li><li>b</li></ul>"),
    ],
)
def test_a_start_tag_ends_what_it_may_end(html: str, tree: str) -> None:
    assert str(Page(html, "html.parser")) == tree
