"""Makes the files that `heed train answer` takes from QAMR, FairytaleQA and plain text.

    python scripts/data/question_answers.py --qamr qamr --fairytaleqa fairytaleqa \\
        --text qamr/unlabelled-sentences.txt wikides/train.tsv --squad xquad/xquad.en.json \\
        --output answers

Writes train.jsonl, dev.jsonl, test.qamr.jsonl, test.fairytaleqa.jsonl, and a test.NAME.jsonl for
each NAME.json in SQuAD's form, a question a line:

    {"context": "…", "question": "…", "answers": [{"start": 12, "text": "…"}, …]}

`start` counts UTF-16 units, as JavaScript does. The first answer is the question writer's, the
others are those of validators.

dev holds the questions on every tenth sentence of QAMR's dev file. train holds the others, some of
them again with their sentence among others; FairytaleQA's train questions whose answer stands in
the story; and questions made by cutting a span out of a sentence of --text (the first cell of each
line) or of a story. No sentence of QAMR is in two of the files. text.txt has the words of all that
there is to train on, for train_tokenizer.py.
"""

import argparse
import json
import random
import re
from pathlib import Path

DEV_EVERY = 10  # sentences of QAMR's dev file
PARAGRAPHS = 0.3  # share of QAMR's training questions that also stand in a longer context
CLOZES = 2  # made questions a sentence at most
PIECE = re.compile(r"[^\W\d_]+|\d+|\S")  # what a model reads on its own: a word, a number, a sign


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--qamr", type=Path, required=True, help="holds dev.jsonl and test.jsonl")
    parser.add_argument("--fairytaleqa", type=Path, required=True, help="sections.*, questions.*")
    parser.add_argument("--text", type=Path, nargs="*", default=[], help="to make questions of")
    parser.add_argument("--made", type=int, default=15_000, help="questions that are made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--squad", type=Path, nargs="*", default=[], help="to evaluate on")
    parser.add_argument("--output", type=Path, required=True, help="the folder to write to")
    options = parser.parse_args()

    chance = random.Random(options.seed)
    sentences = [qamr_sentence(row) for row in rows_of(options.qamr / "dev.jsonl")]
    dev = [rows for index, rows in enumerate(sentences) if index % DEV_EVERY == 0]
    train = [rows for index, rows in enumerate(sentences) if index % DEV_EVERY]
    tales = fairytales(options.fairytaleqa, "train")
    texts = [line.split("\t")[0] for path in options.text for line in lines_of(path)]
    stories = [row["text"] for row in rows_of(options.fairytaleqa / "sections.train.jsonl")]
    real = [*flat(train), *paragraphs(train, chance), *tales]
    made = clozes([*texts, *stories], chance)
    files = {
        "train": [*real, *chance.sample(made, min(options.made, len(made)))],
        "dev": flat(dev),
        "test.qamr": flat(qamr_sentence(row) for row in rows_of(options.qamr / "test.jsonl")),
        "test.fairytaleqa": fairytales(options.fairytaleqa, "val"),
        **{f"test.{path.stem}": squad(path) for path in options.squad},
    }
    options.output.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        path = options.output / f"{name}.jsonl"
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            for row in rows:
                file.write(json.dumps(checked(row), ensure_ascii=False) + "\n")
        print(f"{path}: {len(rows)} questions, {len({row['context'] for row in rows})} contexts")
    read = [text for row in real for text in (row["context"], row["question"])]
    words = (" ".join(PIECE.findall(text.lower())) for text in [*texts, *stories, *read])
    lines = "".join(f"{line}\n" for line in dict.fromkeys(words))
    (options.output / "text.txt").write_text(lines, encoding="utf-8")


# QAMR


def qamr_sentence(row):
    """The questions on one sentence, token spans made places in its text."""
    context, places = joined(row["tokens"])
    rows = []
    for pair in row["qas"]:
        answers = [(places[first][0], places[last][1]) for first, last in pair["spans"]]
        rows.append(question_row(context, pair["q"].strip(), answers))
    return rows


def joined(tokens):
    """Tokens of the Penn treebank as text, and the place of each in it."""
    text, places, quoted = "", [], False
    glue = True
    for token in tokens:
        closing = token in {",", ".", ";", ":", "?", "!", ")", "]", "%", "...", "n't"}
        closing = closing or re.fullmatch(r"'(s|m|d|re|ve|ll)?", token, re.IGNORECASE) is not None
        if token == '"':
            closing, quoted = quoted, not quoted
        if text and not glue and not closing:
            text += " "
        places.append((len(text), len(text) + len(token)))
        text += token
        glue = token in {"(", "[", "$", "£", "`", "``"} or (token == '"' and quoted)
    return text, places


def paragraphs(sentences, chance):
    """Some of the questions again, their sentence among one to four others."""
    rows = []
    for index, questions in enumerate(sentences):
        for row in questions:
            if chance.random() >= PARAGRAPHS:
                continue
            others = chance.sample(range(len(sentences)), chance.randint(1, 4))
            parts = [sentences[other][0]["context"] for other in others if other != index]
            at = chance.randint(0, len(parts))
            before = "".join(part + " " for part in parts[:at])
            after = "".join(" " + part for part in parts[at:])
            rows.append(moved(row, before, after))
    return rows


def moved(row, before, after):
    shift = utf16(before)
    answers = [{**answer, "start": answer["start"] + shift} for answer in row["answers"]]
    return {**row, "context": before + row["context"] + after, "answers": answers}


# FairytaleQA


def fairytales(folder, split):
    """The questions whose answer stands in a section, with the first section that holds one."""
    sections = {
        (row["story"], row["section"]): row["text"]
        for row in rows_of(folder / f"sections.{split}.jsonl")
    }
    rows = []
    for row in rows_of(folder / f"questions.{split}.jsonl"):
        if not row["spans"]:
            continue
        section = row["spans"][0]["section"]
        spans = [span for span in row["spans"] if span["section"] == section]
        answers = [(span["start"], span["start"] + len(span["text"])) for span in spans]
        rows.append(question_row(sections[row["story"], section], row["question"], answers))
    return rows


# SQuAD


def squad(path):
    """Its offsets count code points."""
    rows = []
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            context = paragraph["context"]
            for pair in paragraph["qas"]:
                starts = [(answer["answer_start"], answer["text"]) for answer in pair["answers"]]
                places = [(begin, begin + len(text)) for begin, text in starts]
                rows.append(question_row(context, pair["question"], places))
    return rows


# Made questions

SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
MONTHS = set(
    "January February March April May June July August September October November December".split()
)
NUMBERS = set("two three four five six seven eight nine ten eleven twelve hundred thousand".split())
OPENERS = set("the a an his her its their this that these those my your our some".split())
# Words that no span runs across.
CLOSED = set(
    """i you he she it we they him them me us who which that what when where while and or but nor if
    because as than then so of in on at by to from with without into onto over under about after
    before during between through against among for is are was were be been being am do does did has
    have had will would can could may might must shall should not there also very said says made
    became took came went""".split()
)


def clozes(texts, chance):
    rows = []
    for text in texts:
        parts = SENTENCE.split(text)
        sentences = [part for part in parts if 6 <= len(part.split()) <= 50]
        for sentence in sentences:
            spans = spans_of(sentence)
            chance.shuffle(spans)
            for begin, end, asked in spans[:CLOZES]:
                question = cut(sentence, begin, end, asked, chance)
                # Often the sentence stands among its neighbours.
                row = question_row(sentence, question, [(begin, end)])
                at = text.find(sentence)
                if len(parts) > 1 and chance.random() < 0.4 and len(text.split()) <= 120:
                    row = moved(row, text[:at], text[at + len(sentence) :])
                rows.append(row)
    return rows


def spans_of(sentence):
    """(begin, end, what asks for it) of names, numbers, dates, and nouns behind an article."""
    words = [(match.group(), match.start(), match.end()) for match in WORD.finditer(sentence)]
    found, at = [], 0
    while at < len(words):
        word, begin, _ = words[at]
        before = words[at - 1][0].lower() if at else ""
        to = at + 1
        if word[0].isdigit() or word.lower() in NUMBERS or word in MONTHS:
            date = word in MONTHS or re.fullmatch(r"1\d\d\d|20\d\d", word) is not None
            while to < len(words) and (
                words[to][0][0].isdigit()
                or words[to][0] in MONTHS
                or (words[to][0] == "," and to + 1 < len(words) and words[to + 1][0][0].isdigit())
            ):
                date = date or words[to][0] in MONTHS
                to += 1
            found.append((begin, words[to - 1][2], ["when"] if date else ["how many", "how much"]))
        elif word[0].isupper() and word.lower() not in CLOSED | OPENERS:
            while to < len(words) and (words[to][0][0].isupper() or words[to][0] == "of"):
                to += 1
            if words[to - 1][0] == "of":
                to -= 1
            if at or to - at > 1:
                place = before in {"in", "at", "from", "near"}
                others = ["who"] if before == "by" else ["who", "what", "which"]
                asked = ["where"] if place else others
                found.append((begin, words[to - 1][2], asked))
        elif word.lower() in OPENERS:
            while to < len(words) and to - at < 5 and words[to][0].islower():
                if words[to][0] in CLOSED | OPENERS:
                    break
                to += 1
            if 1 < to - at < 5:
                place = before in {"in", "at", "on", "into", "under"}
                asked = ["what", "where"] if place else ["what", "what", "who"]
                found.append((begin, words[to - 1][2], asked))
        at = max(to, at + 1)
    return found


def cut(sentence, begin, end, asked, chance):
    """A question for a span: the words around it, some of them dropped, behind the asking word."""
    before = [word for word in WORD.findall(sentence[:begin]) if word[0].isalnum()]
    after = [word for word in WORD.findall(sentence[end:]) if word[0].isalnum()]
    before = before[-chance.randint(1, 8) :]
    after = after[: chance.randint(1, 8)]
    words = [*before, *after] if chance.random() < 0.5 else [*after, *before]
    kept = [word for word in words if chance.random() < 0.8] or words
    if chance.random() < 0.3:
        kept.insert(0, chance.choice(["did", "does", "is", "was"]))
    return " ".join([chance.choice(asked), *kept]) + "?"


# Rows


def question_row(context, question, places):
    answers = [
        {"start": utf16(context[:begin]), "text": context[begin:end]} for begin, end in places
    ]
    return {"context": context, "question": question, "answers": answers}


def checked(row):
    units = row["context"].encode("utf-16-le")
    for answer in row["answers"]:
        begin = 2 * answer["start"]
        text = answer["text"].encode("utf-16-le")
        assert text and units[begin : begin + len(text)] == text, row
    return row


def utf16(text):
    return len(text.encode("utf-16-le")) // 2


def flat(lists):
    return [row for rows in lists for row in rows]


def lines_of(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def rows_of(path):
    return [json.loads(line) for line in lines_of(path)]


if __name__ == "__main__":
    main()
