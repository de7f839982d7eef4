"""Makes plain text, a passage a line, of fairy tales and single sentences: what a language model reads.

    python scripts/data/make_passages.py OUT --tales FAIRYTALEQA --sentences TATOEBA

FAIRYTALEQA holds sections.train.jsonl and sections.val.jsonl, one {"story", "section", "text"} a
line; TATOEBA holds train.tsv.gz, dev.tsv and test.tsv, one English<TAB>other a line. OUT gets
train.txt, dev.txt and test.txt. Every story is in one of them: those of sections.val.jsonl in
test.txt, every twentieth of the others in dev.txt. A sentence stands in one file, once.
"""

import argparse
import gzip
import json
from pathlib import Path

DEV_SHARE = 20  # one story in so many


def sections(path):
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def sentences(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.split("\t", 1)[0]


def passages(tales, pairs):
    """→ the lines of each file, by its name."""
    parts = {"train": [], "dev": [], "test": []}
    known = list(sections(tales / "sections.train.jsonl"))
    stories = sorted({section["story"] for section in known})
    held_out = set(stories[::DEV_SHARE])
    for section in known:
        parts["dev" if section["story"] in held_out else "train"].append(section["text"])
    parts["test"] += [section["text"] for section in sections(tales / "sections.val.jsonl")]
    seen = set()
    for part, file in {"test": "test.tsv", "dev": "dev.tsv", "train": "train.tsv.gz"}.items():
        for sentence in sentences(pairs / file):
            if sentence not in seen:
                seen.add(sentence)
                parts[part].append(sentence)
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--tales", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for part, lines in passages(options.tales, options.sentences).items():
        cleaned = [" ".join(line.split()) for line in lines]
        path = options.out / f"{part}.txt"
        path.write_text("".join(f"{line}\n" for line in cleaned if line), encoding="utf-8")
        words = sum(len(line.split()) for line in cleaned)
        print(f"{path}: {len(cleaned)} passages, {words} words")


if __name__ == "__main__":
    main()
