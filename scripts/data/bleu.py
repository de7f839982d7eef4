"""Scores translations of a file of sentence pairs with sacrebleu's corpus BLEU.

    python scripts/data/bleu.py hypotheses.txt test.tsv

The hypotheses are plain text, one line for each distinct English sentence of the pairs, in the
order in which each first appears. All Spanish lines of an English sentence are its references.
"""

import argparse
from pathlib import Path

from sacrebleu.metrics import BLEU


def references_by_sentence(path):
    """English sentence → its Spanish lines, both in the order of the file."""
    references = {}
    for line in lines_of(path):
        english, spanish = line.split("\t")
        references.setdefault(english, []).append(spanish)
    return references


def lines_of(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hypotheses", type=Path, help="one Spanish line a sentence")
    parser.add_argument("pairs", type=Path, help="lines of English<TAB>Spanish")
    options = parser.parse_args()

    references = list(references_by_sentence(options.pairs).values())
    hypotheses = lines_of(options.hypotheses)
    if len(hypotheses) != len(references):
        parser.error(
            f"{options.hypotheses} must have one line for each of the {len(references)} distinct "
            f"English sentences, got {len(hypotheses)} lines"
        )
    # sacrebleu wants one stream for the first references, one for the second, …; None fills up.
    most = max(map(len, references))
    streams = [[of[i] if i < len(of) else None for of in references] for i in range(most)]
    bleu = BLEU(tokenize="13a")
    print(bleu.corpus_score(hypotheses, streams))
    print(bleu.get_signature())
    print(f"{len(references)} sentences, {sum(map(len, references))} references")


if __name__ == "__main__":
    main()
