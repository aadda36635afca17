#!/usr/bin/env python3
"""Whether two pictures show the same, but for the edges of text and shapes, which each release of Qt smooths in its own
way. Needs Pillow (python3-pil).

    scripts/picture_difference.py OLD NEW [LEFT,TOP,RIGHT,BOTTOM ...]

What is in the boxes is not compared. Prints how many pixels differ and where; exit status 1 if they do.
"""
import sys

from PIL import Image, ImageChops

STEP = 64  # of 255; a smoothed edge moves by less
PIXELS = 40  # a digit has about as many


def main(old, new, *boxes):
    before, after = (Image.open(path).convert("RGB") for path in (old, new))
    if before.size != after.size:
        print("other sizes")
        return 1
    difference = ImageChops.difference(before, after)
    for box in boxes:
        difference.paste((0, 0, 0), tuple(map(int, box.split(","))))
    channels = difference.point(lambda value: 255 if value > STEP else 0).split()
    changed = ImageChops.lighter(ImageChops.lighter(*channels[:2]), channels[2])
    count = changed.histogram()[255]
    if count <= PIXELS:
        return 0
    print(f"{count} pixels differ, within {changed.getbbox()}")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
