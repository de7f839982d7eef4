"""Makes a vocabulary of whole words, in small letters, of the text that embeddings are learned from.

    python scripts/data/train_word_tokenizer.py OUT/tokenizer.json TEXT... --labelled TABLE...

TEXT is plain text, .gz or not, of which the first cell of each line counts; of a TABLE the last one
does. A word stays when it stands there --count times. It is written as a WordPiece model: an unknown word is read as a known one with a known
ending ("##s", "##ing") where there is one, else as <unk>.
"""

import argparse
import collections
import gzip
import json
import re
from pathlib import Path

from tokenizers import Tokenizer

SPECIAL = ["<pad>", "<unk>"]  # ids 0 and 1
ENDINGS = ["s", "es", "ed", "d", "ing", "er", "ers", "ly", "ness", "less", "ful", "y", "al", "ish"]
WORD = re.compile(r"[^\W_]+")
LONGEST = 40


def words(path, cell):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield from WORD.findall(line.rstrip("\n").split("\t")[cell].lower())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="where tokenizer.json goes")
    parser.add_argument("text", type=Path, nargs="+")
    parser.add_argument("--labelled", type=Path, nargs="+", default=[])
    parser.add_argument("--count", type=int, default=3)
    options = parser.parse_args()

    cells = [(path, 0) for path in options.text] + [(path, -1) for path in options.labelled]
    counts = collections.Counter(word for path, cell in cells for word in words(path, cell))
    known = [word for word, count in counts.items() if count >= options.count]
    known = sorted((word for word in known if len(word) <= LONGEST), key=lambda w: (-counts[w], w))
    tokens = [*SPECIAL, *known, *(f"##{ending}" for ending in ENDINGS)]
    special = [
        {
            "id": id,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for id, token in enumerate(SPECIAL)
    ]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "<unk>",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": LONGEST,
            "vocab": {token: id for id, token in enumerate(tokens)},
        },
    }
    text = json.dumps(tokenizer, ensure_ascii=False, indent=0) + "\n"
    Tokenizer.from_str(text)  # a tokenizer
    options.output.write_text(text, encoding="utf-8")
    covered = sum(counts[word] for word in known) / counts.total()
    print(f"{options.output}: {len(tokens)} tokens, {covered:.1%} of the words of the text")


if __name__ == "__main__":
    main()
