// Texts of code that belongs to no QObject, in the context that translators find them by:
//
//   constexpr Words words("Card");
//   words("%1 of peak").arg(share)
#pragma once

#include <QCoreApplication>
#include <QString>

namespace foreshard::gui {

class Words {
 public:
  explicit constexpr Words(const char* context) : context_(context) {}

  // `n` takes the place of %n and decides between singular and plural.
  QString operator()(const char* text, int n = -1) const {
    return QCoreApplication::translate(context_, text, nullptr, n);
  }

 private:
  const char* context_;
};

}  // namespace foreshard::gui
