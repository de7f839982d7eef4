"""Scores summaries of a file of pairs with ROUGE-L (rouge-score, stemming, mean F-measure, 0 to 1).

    python scripts/data/rouge.py --data wikides --pairs test.tsv                  the baselines
    python scripts/data/rouge.py --data wikides --pairs test.tsv summaries.txt    and summaries

The summaries are plain text, one line for each pair, in the order of the file. The baselines are the
first sentence of each paragraph, and the description that is most frequent in train.tsv.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

from rouge_score.rouge_scorer import RougeScorer

# Up to a full stop before a capital letter, but not behind an initial ("J. Smith") or a title.
FIRST_SENTENCE = re.compile(r".+?(?<!\b\w)(?<!\bSt)(?<!\b[MD]r)(?<!\bMrs)[.!?][\"')]*(?=\s+[\"'(]*[A-Z])")


def first_sentence(paragraph):
    found = FIRST_SENTENCE.match(paragraph)
    return found.group() if found else paragraph


def pairs_of(path):
    return [line.split("\t") for line in lines_of(path)]


def lines_of(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def rouge_l(summaries, references):
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    scores = [
        scorer.score(reference, summary)["rougeL"].fmeasure
        for reference, summary in zip(references, summaries, strict=True)
    ]
    return sum(scores) / len(scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="holds train.tsv and the pairs")
    parser.add_argument("--pairs", default="dev.tsv", help="lines of PARAGRAPH<TAB>DESCRIPTION")
    parser.add_argument("summaries", type=Path, nargs="*", help="one line a pair")
    options = parser.parse_args()

    pairs = pairs_of(options.data / options.pairs)
    references = [description for _, description in pairs]
    (most_frequent, _), *_ = Counter(d for _, d in pairs_of(options.data / "train.tsv")).most_common(1)
    columns = {
        "first sentence": [first_sentence(paragraph) for paragraph, _ in pairs],
        f'"{most_frequent}" for all': [most_frequent] * len(pairs),
        **{str(path): lines_of(path) for path in options.summaries},
    }
    for name, summaries in columns.items():
        if len(summaries) != len(pairs):
            parser.error(f"{name} must have a line for each of {len(pairs)} pairs, got {len(summaries)}")
        print(f"{rouge_l(summaries, references):.4f}  {name}")


if __name__ == "__main__":
    main()
