#!/usr/bin/env python3
"""Composes the text that models train on when no data are given: about 100 kB of plain prose made
from a small grammar, the same on every machine. Its only purpose is to be ours, to be free, and to
have enough structure that a loss falls on it.

    scripts/make_text.py > executor/data/text/prose.txt
"""
from prediction import parser_of

SIZE = 100_000

NAMES = "Ada Bruno Clara Dimitri Esther Farid Greta Hugo Ines Jonas Katya Leon Mira Nils Olga Pavel".split()
PEOPLE = "baker sailor teacher clockmaker gardener weaver doctor shepherd printer miller painter ferryman".split()
THINGS = ("lantern", "letter", "map", "kettle", "bell", "boat", "ladder", "coat", "violin", "basket", "mirror",
          "key", "book of songs", "bag of flour", "wooden box", "bundle of wool", "telescope", "clock")
PLACES = ("harbour", "mill", "market", "old bridge", "orchard", "library", "station", "lighthouse", "quarry",
          "school", "river bank", "workshop", "north gate", "hill above the town", "inn", "empty theatre")
ADJECTIVES = ("small", "heavy", "bright", "patient", "quiet", "crooked", "warm", "curious", "forgotten", "careful",
              "dusty", "green", "narrow", "gentle", "stubborn", "honest", "pale", "weathered")
WEATHER = ("rain", "snow", "fog", "wind", "frost", "thunder", "sunlight", "drizzle")
TIMES = ("In the morning", "Before noon", "That evening", "On the third day", "Late in autumn", "After the storm",
         "When the bells had stopped", "At the end of the week", "Long before the war", "Towards midnight",
         "In the first warm days of spring", "An hour later")
ADVERBS = ("slowly", "at once", "without a word", "with great care", "gladly", "for the last time", "as always",
           "in secret", "almost by accident", "more quickly than anyone expected")
CARRY = ("carried", "brought", "sold", "repaired", "lost", "found", "hid", "painted", "borrowed", "returned")
THINK = ("believed", "hoped", "knew", "feared", "remembered", "doubted", "insisted")
SPEAK = ("said", "asked", "answered", "whispered", "called", "repeated")
STATES = ("was never locked", "had changed since then", "belonged to nobody", "would not last the winter",
          "smelled of apples and smoke", "looked smaller than before", "stood where it had always stood",
          "could be seen from far away", "made no sound at all", "was worth the long walk")
MAXIMS = ("a short road is not always a quick one", "what is mended twice is loved twice",
          "nobody owns the weather", "good bread needs time and little else",
          "the river keeps no secrets for long", "an open door is an answer too",
          "whoever counts the stars forgets the hour", "patience is a kind of strength")


class Dice:
    """A linear congruential generator (Knuth's MMIX constants), so that no library's choice of
    random numbers can ever change the text."""

    def __init__(self, state):
        self.state = state

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def pick(self, items):
        return items[self.below(len(items))]


def article(words):
    return ("an " if words[0] in "aeiou" else "a ") + words


def capital(text):
    return text[0].upper() + text[1:]


class Writer:
    def __init__(self, dice):
        self.pick, self.below = dice.pick, dice.below

    def person(self):
        if self.below(3) == 0:
            return "the " + self.pick(PEOPLE)
        return self.pick(self.cast)

    def thing(self):
        noun = self.pick(THINGS)
        return self.pick(ADJECTIVES) + " " + noun if self.below(2) else noun

    def place(self):
        return "the " + self.pick(PLACES)

    def statement(self):
        who = self.person()
        form = self.below(6)
        if form == 0:
            return f"{who} {self.pick(CARRY)} {article(self.thing())} and took it to {self.place()}"
        if form == 1:
            return f"{who} {self.pick(THINK)} that {self.place()} {self.pick(STATES)}"
        if form == 2:
            return f"{who} walked from {self.place()} to {self.place()} {self.pick(ADVERBS)}"
        if form == 3:
            return f"{who} and {self.person()} {self.pick(CARRY)} the {self.thing()} {self.pick(ADVERBS)}"
        if form == 4:
            return f"{who} gave {self.person()} {article(self.thing())}, because the {self.pick(THINGS)} {self.pick(STATES)}"
        return f"there was {self.pick(WEATHER)} over {self.place()}, and {who} waited {self.pick(ADVERBS)}"

    def sentence(self):
        form = self.below(10)
        if form < 4:
            return capital(self.statement()) + "."
        if form < 6:
            return f"{self.pick(TIMES)}, {self.statement()}."
        if form == 6:
            return f"{capital(self.statement())}, but {self.statement()}."
        if form == 7:
            return f"\"{capital(self.pick(MAXIMS))},\" {self.pick(SPEAK)} {self.person()}."
        if form == 8:
            return f"\"Have you seen the {self.thing()}?\" {self.pick(SPEAK)} {self.person()}. \"It {self.pick(STATES)}.\""
        count = 2 + self.below(98)
        return f"They counted {count} steps from {self.place()} to {self.place()}, and {self.below(20) + 2} more to the door."

    def chapter(self, number):
        self.cast = [self.pick(NAMES) for _ in range(4)]
        title = f"{number}. The {self.pick(ADJECTIVES)} {self.pick(THINGS)}"
        paragraphs = [" ".join(self.sentence() for _ in range(3 + self.below(6))) for _ in range(5 + self.below(6))]
        return "\n\n".join([title] + paragraphs) + "\n\n\n"


def main():
    parser_of(__doc__).parse_args()
    writer, text, number = Writer(Dice(20)), "", 1
    while len(text) < SIZE:
        text += writer.chapter(number)
        number += 1
    print(text.rstrip())


if __name__ == "__main__":
    main()
