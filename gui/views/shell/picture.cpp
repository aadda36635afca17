#include "gui/views/shell/picture.hpp"

#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>

namespace foreshard::gui {
namespace {

QString ending(const std::string& path) {
  return QFileInfo(QString::fromStdString(path)).suffix().toLower();
}

bool draw_svg(QWidget& widget, QIODevice& file) {
  QSvgGenerator picture;
  picture.setOutputDevice(&file);
  picture.setSize(widget.size());
  picture.setViewBox(widget.rect());
  picture.setTitle(widget.windowTitle());
  QPainter painter;
  if (!painter.begin(&picture)) return false;
  widget.render(&painter);
  return painter.end();
}

bool draw_png(QWidget& widget, QIODevice& file) {
  const double ratio = widget.devicePixelRatioF();
  QImage image(widget.size() * ratio, QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  widget.render(&image);
  return image.save(&file, "PNG");
}

}  // namespace

Result<void> check_picture_name(const std::string& path) {
  if (ending(path) == QLatin1String("png") || ending(path) == QLatin1String("svg")) return {};
  return fail(path, "", "is not the name of a picture; expected one that ends in .png or .svg");
}

Result<void> write_picture(QWidget& widget, const std::string& path) {
  if (auto ok = check_picture_name(path); !ok) return ok;
  QSaveFile file(QString::fromStdString(path));
  const bool is_svg = ending(path) == QLatin1String("svg");
  if (!file.open(QIODevice::WriteOnly) ||
      !(is_svg ? draw_svg(widget, file) : draw_png(widget, file)) || !file.commit()) {
    return fail(path, "",
                "cannot be written (" + file.errorString().toStdString() +
                    "); expected a folder that can be written and room for the picture");
  }
  return {};
}

}  // namespace foreshard::gui
