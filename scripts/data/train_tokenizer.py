"""Trains one joint byte-pair vocabulary on both sides of a file of pairs.

    python scripts/data/train_tokenizer.py train.tsv.gz models/translate-en-es/tokenizer.json

The file it writes is read by @huggingface/tokenizers too, with the same ids. That library's
Metaspace does not split and its Punctuation keeps runs together, so neither is used: the
normalizer puts "▁" where a word begins, and one regular expression does all the splitting.
"""

import argparse
import gzip
import json
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]  # ids 0 to 3
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]  # ids 4 to 259: what the alphabet lacks

# A word with its inner apostrophes ("don't"), or one sign or digit alone ("¿", "7"). Numbers go
# digit by digit, so that attention can copy them. A token never spans two of these pieces.
PIECE = r"▁?[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|▁?[^\p{L}\p{M}▁]|▁"


def sentences(path):
    """Yields both sides of every line `SOURCE<TAB>TARGET`."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield from line.rstrip("\n").split("\t")


def train(path, vocabulary, alphabet):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(PIECE), "isolated")
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=SPECIAL + BYTES,
        show_progress=False,
        **({} if alphabet is None else {"limit_alphabet": alphabet}),
    )
    tokenizer.train_from_iterator(sentences(path), trainer)
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path, help="lines of SOURCE<TAB>TARGET, .gz or not")
    parser.add_argument("output", type=Path, help="where tokenizer.json goes")
    parser.add_argument("--vocabulary", type=int, default=4000)
    parser.add_argument("--alphabet", type=int, help="keep the commonest characters; default: all")
    options = parser.parse_args()

    # The trainer gives the byte tokens their ids as special tokens; in the file they are ordinary
    # ones, so that a text that spells "<0x41>" stays that text.
    trained = json.loads(train(options.pairs, options.vocabulary, options.alphabet).to_str())
    trained["added_tokens"] = [
        token for token in trained["added_tokens"] if token["content"] in SPECIAL
    ]
    text = json.dumps(trained, ensure_ascii=False, indent=1) + "\n"
    Tokenizer.from_str(text)  # still a tokenizer
    options.output.write_text(text, encoding="utf-8")
    print(f"{options.output}: {len(trained['model']['vocab'])} tokens")


if __name__ == "__main__":
    main()
