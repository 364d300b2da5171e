// Marks the words that question and text share: whole words, in any case, singular or plural.

const UNSPACED = "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}";
const LETTERS = `[\\p{L}\\p{N}]`;
const WORD = new RegExp(
  `(?<run>(?:(?=[${UNSPACED}])[\\p{L}\\p{N}]\\p{M}*)+)|(?:(?![${UNSPACED}])${LETTERS}\\p{M}*)+`,
  "gu",
);
const ENDING = /['’](?:s|t|m|d|ll|re|ve)(?![\p{L}\p{N}])/giu;
const STOP_WORDS = new Set(
  (
    "a about am an and any are as at be been but by can could did do does for from had has have he " +
    "her his how i if in into is it its me my no not of on or our she should so than that the " +
    "their them then there these they this those to up us was we were what when where which who " +
    "whom whose why will with would you your"
  ).split(" "),
);

/** Return a word as it is compared: folded case, compatible forms, no plural ending. */
function folded(word) {
  const term = word.normalize("NFKC").toLowerCase();
  if (!/^[a-z]{3,}$/.test(term)) return term;
  if (/[^ea]ies$/.test(term)) return `${term.slice(0, -3)}y`;
  return /[^us]s$/.test(term) ? term.slice(0, -1) : term;
}

/** Yield the words of a text with their places; scripts without spaces give pairs of letters. */
function* wordsOf(text) {
  for (const match of text.matchAll(WORD)) {
    const letters = match.groups.run === undefined ? [] : [...match[0].matchAll(/.\p{M}*/gsu)];
    if (letters.length < 2) {
      yield { term: folded(match[0]), start: match.index, end: match.index + match[0].length };
    }
    for (let place = 1; place < letters.length; place += 1) {
      const [first, second] = [letters[place - 1], letters[place]];
      const start = match.index + first.index;
      const end = match.index + second.index + second[0].length;
      yield { term: folded(text.slice(start, end)), start, end };
    }
  }
}

/** Return what of a question is worth marking; of one that is all small words, all of it. */
export function termsOf(question) {
  const terms = [...wordsOf(question.replace(ENDING, " "))].map((word) => word.term);
  const telling = terms.filter((term) => !STOP_WORDS.has(term));
  return new Set(telling.length > 0 ? telling : terms);
}

/** Return text nodes and marks that together are the text. */
export function marked(text, terms) {
  const nodes = [];
  let done = 0;
  for (const { start, end } of joined(text, terms)) {
    if (start > done) nodes.push(document.createTextNode(text.slice(done, start)));
    const mark = document.createElement("mark");
    mark.textContent = text.slice(start, end);
    nodes.push(mark);
    done = end;
  }
  nodes.push(document.createTextNode(text.slice(done)));
  return nodes;
}

/** Return the places to mark, ascending; parts of a compound such as RXC-225B are one. */
function joined(text, terms) {
  const places = [];
  for (const { term, start, end } of wordsOf(text)) {
    if (!terms.has(term)) continue;
    const last = places.at(-1);
    if (last && (start <= last.end || /^[-‐‑–_.]$/u.test(text.slice(last.end, start)))) last.end = end;
    else places.push({ start, end });
  }
  return places;
}
