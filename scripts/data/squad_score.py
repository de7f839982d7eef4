"""Scores answers as SQuAD does: exact match and F1 over words, the best over a question's answers.

    heed answer --questions test.jsonl --threshold 2 > answers.txt
    python scripts/data/squad_score.py test.jsonl answers.txt

Answers are plain text, a line for each line of the questions, in their order. Case, punctuation and
articles count nothing. Without a file of answers the trivial baselines are scored: the whole
context, the sentence that shares most words with the question, and the first name or number in it
that the question does not have.
"""

import argparse
import json
import re
import string
from collections import Counter
from pathlib import Path

SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
NAME = re.compile(r"[A-Z0-9][\w.,'’-]*\w|[A-Z0-9]")


def normalized(text):
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def f1(answer, right):
    answer, right = normalized(answer), normalized(right)
    shared = sum((Counter(answer) & Counter(right)).values())
    if not answer or not right or not shared:
        return float(answer == right)
    precision, recall = shared / len(answer), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def score(answers, rows):
    """→ exact match and F1 in percent."""
    exact = fuzzy = 0
    for answer, row in zip(answers, rows, strict=True):
        rights = [right["text"] for right in row["answers"]]
        exact += any(normalized(answer) == normalized(right) for right in rights)
        fuzzy += max(f1(answer, right) for right in rights)
    return 100 * exact / len(rows), 100 * fuzzy / len(rows)


def likeliest_sentence(row):
    asked = Counter(normalized(row["question"]))
    sentences = SENTENCE.split(row["context"])
    return max(sentences, key=lambda text: sum((Counter(normalized(text)) & asked).values()))


def first_name(row):
    asked = set(normalized(row["question"]))
    sentence = likeliest_sentence(row)
    names = [name for name in NAME.findall(sentence) if not set(normalized(name)) & asked]
    return names[0] if names else sentence


BASELINES = {
    "the whole context": lambda row: row["context"],
    "the likeliest sentence": likeliest_sentence,
    "its first name or number": first_name,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path, help="JSON lines, see question_answers.py")
    parser.add_argument("answers", type=Path, nargs="?", help="a line each; default: baselines")
    options = parser.parse_args()

    lines = options.questions.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line]
    if options.answers:
        answers = options.answers.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        if len(answers) != len(rows):
            parser.error(f"{options.answers} must have {len(rows)} lines, got {len(answers)}")
        scored = {str(options.answers): answers}
    else:
        scored = {name: [answer(row) for row in rows] for name, answer in BASELINES.items()}
    for name, answers in scored.items():
        exact, fuzzy = score(answers, rows)
        print(f"{name}: exact match {exact:.1f}, F1 {fuzzy:.1f}, {len(rows)} questions")


if __name__ == "__main__":
    main()
