"""Makes exercises for a summarizer: what the first sentence of each paragraph says of its subject.

    python scripts/data/first_predicates.py wikides/train.tsv exercises.tsv

"Huttonella is a genus of land snails in the family Streptaxidae." gives "genus of land snails in the
family Streptaxidae". A model that has to say so learns where to look and how to copy, which the few
real descriptions teach it too slowly. Reads and writes lines of PARAGRAPH<TAB>TEXT.
"""

import argparse
import re
from pathlib import Path

from rouge import first_sentence, pairs_of

PREDICATE = re.compile(r"\b(?:is|was|are|were) (?:(?:an?|the|one of the|any|two|several) )?(.+)")
END = re.compile(r"[,;:(]| (?:who|which|that|where) ")
MOST_WORDS = 12


def predicate(paragraph):
    found = PREDICATE.search(first_sentence(paragraph))
    if found is None:
        return ""
    return " ".join(END.split(found.group(1))[0].rstrip(". ").split()[:MOST_WORDS])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path, help="lines of PARAGRAPH<TAB>DESCRIPTION")
    parser.add_argument("output", type=Path, help="where the exercises go")
    options = parser.parse_args()

    exercises = [(paragraph, predicate(paragraph)) for paragraph, _ in pairs_of(options.pairs)]
    lines = [f"{paragraph}\t{text}\n" for paragraph, text in exercises if text]
    options.output.write_text("".join(lines), encoding="utf-8")
    print(f"{options.output}: {len(lines)} exercises")


if __name__ == "__main__":
    main()
