"""Says which words of English–Spanish pairs come from which, and makes further pairs of them.

    python scripts/data/link_pairs.py train.tsv.gz tokenizer.json LINKED/train.tsv

Every line it writes is `SOURCE<TAB>TARGET<TAB>LINKS`, or without links where there are none; the link
2-3 says that token 3 of the target comes from token 2 of the source. Words are linked by eflomal, in
both directions; links of words hold for all their tokens. The further pairs are

- phrases: a run of words on either side whose links stay within it (Koehn et al. 2003, "Statistical
  phrase-based translation", section 4);
- sentences with an adjective more: "the cat" becomes "the black cat" and "el gato" "el gato negro",
  since "black cat" stands for "gato negro" elsewhere. The noun's form stays, and with it agreement.

eflomal draws by chance: the file is a little different each time.
"""

import argparse
import gzip
import json
import random
import subprocess
import tempfile
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import regex
from tokenizers import Tokenizer

# Words as the tokenizer splits them, and signs; U+001C to U+001F are spaces to the aligner.
WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|[^\p{L}\p{M}\s\x1c-\x1f]")
# Words of a phrase, at most.
SOURCE_WORDS = 4
TARGET_WORDS = 5
# A phrase that stands too seldom is kept when it is so short and a word of it rare.
RARE_WORDS = 3
# What a source phrase becomes at least so often, of all its phrases; the rest are chance.
SHARE = 0.15
# Adjectives that a noun is tried with.
VARIANTS = 3
# What may stand before a noun that takes an adjective, and what is no adjective though it crosses.
DETERMINERS = set("the a an this that my your his her its our their some".split())
QUANTITIES = set("more less most least next last".split())


def opened(path, mode):
    return (gzip.open if path.suffix == ".gz" else open)(path, mode, encoding="utf-8", newline="\n")


def read_pairs(path):
    pairs = []
    with opened(path, "rt") as lines:
        for number, line in enumerate(lines, 1):
            pair = line.rstrip("\r\n").split("\t")
            if pair == [""]:
                continue
            if len(pair) != 2 or not all(pair):
                raise SystemExit(f"{path}: line {number} must be SOURCE<TAB>TARGET, got {line!r}")
            pairs.append(pair)
    if not pairs:
        raise SystemExit(f"{path}: there must be a pair, got none")
    return pairs


def read_tokenizer(path):
    """The tokenizer as heed reads it: texts have no special tokens, and nothing is added to them."""
    description = json.loads(path.read_text(encoding="utf-8"))
    bare = {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    return Tokenizer.from_str(json.dumps(description | bare))


def link_words(sources, targets):
    """For each pair two sets of (source word, target word): by both directions, by either."""
    with tempfile.TemporaryDirectory() as folder:
        at = {name: str(Path(folder, name)) for name in ["source", "target", "forward", "reverse"]}
        for name, texts in [("source", sources), ("target", targets)]:
            lines = [" ".join(words).lower() for words in texts]
            Path(at[name]).write_text("\n".join(lines) + "\n", encoding="utf-8")
        subprocess.run(
            ["eflomal-align", "-s", at["source"], "-t", at["target"]]
            + ["-f", at["forward"], "-r", at["reverse"]],
            check=True,
        )
        forward, reverse = (
            [
                {tuple(map(int, link.split("-"))) for link in line.split()}
                for line in Path(at[name]).read_text(encoding="utf-8").splitlines()
            ]
            for name in ["forward", "reverse"]
        )
    return [(ahead & back, ahead | back) for ahead, back in zip(forward, reverse, strict=True)]


def phrases(source, target, sure, linked):
    """Yields (first, last) of the source's words and of the target's, both included."""
    for first in range(len(source)):
        for last in range(first, min(len(source), first + SOURCE_WORDS)):
            if not source[last][0].isalpha():
                break
            meant = [there for here, there in sure if first <= here <= last]
            if not meant or (first == 0 and last == len(source) - 1):
                continue
            low, high = min(meant), max(meant)
            inside = [
                (here, there)
                for here, there in linked
                if first <= here <= last or low <= there <= high
            ]
            if (
                high - low < TARGET_WORDS
                and all(word[0].isalpha() for word in target[low : high + 1])
                and all(first <= here <= last and low <= there <= high for here, there in inside)
                and len({here for here, _ in inside}) == last - first + 1
                and len({there for _, there in inside}) == high - low + 1
            ):
                yield (first, last), (low, high)


def adjectives(found, shapes):
    """{(noun, sustantivo): [(adjective, adjetivo)]} of phrases of two words that cross."""
    known = defaultdict(list)
    for (source, target), count in sorted(found.items()):
        match source.split(" "), target.split(" "):
            case [adjective, noun], [sustantivo, adjetivo]:
                crossing = shapes[source, target] == {(0, 1), (1, 0)}
                lower = (source + target).islower() and adjective not in DETERMINERS | QUANTITIES
                if crossing and lower and count >= 2:
                    known[noun, sustantivo].append((adjective, adjetivo))
    return known


def modified(pair, words, sure, linked, known, articles, chance):
    """Yields (source, target, links) with an adjective more, a few for each noun that takes one."""
    source, target = words
    for here, there in sure:
        options = known.get((source[here], target[there]))
        determined = here > 0 and source[here - 1].lower() in DETERMINERS
        if not (options and determined and (here - 1, there - 1) in sure):
            continue
        # What stands before the noun, and behind it, does so on both sides.
        if not all((x - here) * (y - there) > 0 for x, y in linked if (x, y) != (here, there)):
            continue
        english, spanish = pair
        at = [match.start() for match in WORD.finditer(english)]
        end = list(WORD.finditer(spanish))[there].end()
        for adjective, adjetivo in chance.sample(options, min(VARIANTS, len(options))):
            before = english[: at[here]]
            if source[here - 1].lower() in ("a", "an"):
                # As the pairs themselves have it: "an hour", "a university".
                n = "n" * (articles["an", adjective] > articles["a", adjective])
                before = f"{english[: at[here - 1]]}{source[here - 1][0]}{n} "
            yield (
                f"{before}{adjective} {english[at[here] :]}",
                f"{spanish[:end]} {adjetivo}{spanish[end:]}",
                [(x + (x >= here), y + (y > there)) for x, y in sure] + [(here, there + 1)],
            )


def link_tokens(tokenizer, source, target, links):
    """Links (source word, target word) of two texts as links of their tokens: "0-0 1-2"."""

    def tokens_of(text):
        # The normalizer puts a mark before the text; offsets are those of the text itself.
        spans = tokenizer.encode(text).offsets
        return [
            [
                token
                for token, (start, end) in enumerate(spans)
                if start < word.end() and end > word.start()
            ]
            for word in WORD.finditer(text)
        ]

    here, there = tokens_of(source), tokens_of(target)
    pairs = sorted({pair for s, t in links for pair in product(here[s], there[t])})
    return " ".join(f"{s}-{t}" for s, t in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path, help="lines of SOURCE<TAB>TARGET, .gz or not")
    parser.add_argument("tokenizer", type=Path, help="the tokenizer.json that training will use")
    parser.add_argument("output", type=Path, help="where the lines with links go")
    parser.add_argument("--least", type=int, default=3, help="how often a phrase must stand")
    parser.add_argument("--rare", type=int, default=10, help="how often a rare word stands at most")
    parser.add_argument("--made", type=int, default=50000, help="sentences with an adjective more")
    options = parser.parse_args()

    if options.output.resolve() == options.pairs.resolve():
        parser.error(f"the output must be another file than {options.pairs}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = read_tokenizer(options.tokenizer)
    pairs = read_pairs(options.pairs)
    words = [[WORD.findall(text) for text in pair] for pair in pairs]
    links = link_words([source for source, _ in words], [target for _, target in words])
    common = Counter(word.lower() for source, _ in words for word in source)

    articles = Counter(
        (first.lower(), second)
        for source, _ in words
        for first, second in zip(source, source[1:], strict=False)
    )

    found = Counter()
    ways = defaultdict(Counter)
    for (source, target), (sure, linked) in zip(words, links, strict=True):
        for (first, last), (low, high) in phrases(source, target, sure, linked):
            phrase = " ".join(source[first : last + 1]), " ".join(target[low : high + 1])
            found[phrase] += 1
            within = frozenset((s - first, t - low) for s, t in sure if first <= s <= last)
            ways[phrase][within] += 1
    # A phrase is linked as it is most often.
    shapes = {phrase: links.most_common(1)[0][0] for phrase, links in ways.items()}

    total = Counter()
    for (source, _), count in found.items():
        total[source] += count

    def kept(source, count):
        each = source.lower().split(" ")
        rare = len(each) <= RARE_WORDS and min(common[word] for word in each) <= options.rare
        return count >= SHARE * total[source] and (rare or count >= options.least)

    known = adjectives(found, shapes)
    chance = random.Random(1)
    made = [
        sentence
        for pair, both, (sure, linked) in zip(pairs, words, links, strict=True)
        for sentence in modified(pair, both, sure, linked, known, articles, chance)
    ]
    further = [
        *((*phrase, shapes[phrase]) for phrase, count in found.items() if kept(phrase[0], count)),
        *chance.sample(made, min(options.made, len(made))),
    ]
    with opened(options.output, "wt") as output:
        for source, target, sure in [
            *((*pair, sure) for pair, (sure, _) in zip(pairs, links, strict=True)),
            *further,
        ]:
            tied = link_tokens(tokenizer, source, target, sure)
            print(source, target, *[tied] * bool(tied), sep="\t", file=output)
    print(f"{options.output}: {len(pairs)} pairs and {len(further)} made of them")


if __name__ == "__main__":
    main()
