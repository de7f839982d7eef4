"""Writes the vocabulary of the recall task: words, and each of them again in upper case.

    python scripts/data/recall_tokenizer.py models/recall/attention/tokenizer.json
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

WORDS = """
apple arrow bank bell bird boat bone book bread bridge brush candle castle chair cloud coat corn
crown door dream drum dust egg feather field fire fish flag flute fox garden glass glove grass hammer
harp hill honey horse house ink iron island ivory key king lake lamp leaf lemon letter lion mirror
moon moss nest oak ocean onion orange owl paper pearl pipe
""".split()
SPECIAL = ["<pad>", "<unk>"]


def main():
    tokens = [*SPECIAL, "?", *WORDS, *(word.upper() for word in WORDS)]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="<unk>"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {len(tokens)} tokens")


if __name__ == "__main__":
    main()
