// Small shapes that several views draw: pills with text, swatches, marks of state.
#pragma once

#include <QPainter>
#include <QString>

#include "gui/models/base/colour_role.hpp"

namespace foreshard::gui {

// A rounded box with text in the middle, as the cursor's time has; returns where it was drawn. It is
// kept between `left` and `right`.
QRectF pill_box(double centre_x, double top, const QString& text, double left, double right);
QRectF draw_pill(QPainter& painter, double centre_x, double top, const QString& text, QColor fill,
                 QColor ink, double left, double right);

// A key as it is engraved, such as `F` or `Ctrl+J`: an outlined box around its text, which begins at
// `left`; returns where it was drawn.
QRectF draw_key_cap(QPainter& painter, double left, double centre_y, const QString& key);
double key_cap_width(const QString& key);

// State doubled by shape: a dot (ok), a triangle (warn) or a square (error), 8 pixels wide.
void draw_state(QPainter& painter, QPointF centre, Role state);

// A letter or a word in a rounded box that tells a curve or a row from others.
constexpr double kBadgeHeight = 18;
double badge_width(const QString& letter);
void draw_badge(QPainter& painter, QPointF centre, const QString& letter, QColor fill);

// A title and, in grey, what it is about, on one line from the left.
void draw_heading(QPainter& painter, QPointF baseline, const QString& title, const QString& about);

// The line of what cannot be exceeded, such as the capacity of a device.
void draw_limit(QPainter& painter, QPointF from, QPointF to);

void draw_swatch(QPainter& painter, QPointF centre, QColor colour);

// The mark of what is checked, about 8 pixels wide.
void draw_check(QPainter& painter, QPointF centre, QColor colour);

// The triangle of a section that is open or folded.
void draw_triangle(QPainter& painter, QPointF centre, bool is_open, QColor colour);

}  // namespace foreshard::gui
