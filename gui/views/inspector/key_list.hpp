// A list of actions with their keys, such as the commands or the help: the action on the left, its
// keys engraved on the right, under headings. Typing narrows it to the rows that hold every word.
#pragma once

#include <QAbstractListModel>
#include <QListView>
#include <QString>
#include <vector>

namespace foreshard::gui {

struct KeyRow {
  QString text;
  QString keys;  // alternatives separated by ", "
  bool is_heading = false;
  bool is_enabled = true;
  int id = 0;  // whoever fills the list knows the row by it
};

// The rows that hold all words of the filter, in any case, and all rows of headings that do;
// headings stay where a row below them does.
std::vector<KeyRow> filtered_rows(const std::vector<KeyRow>& rows, const QString& filter);

class KeyRows : public QAbstractListModel {
  Q_OBJECT
 public:
  using QAbstractListModel::QAbstractListModel;

  void set_rows(std::vector<KeyRow> rows);
  const KeyRow& row(int n) const { return rows_[static_cast<std::size_t>(n)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
  std::vector<KeyRow> rows_;
};

class KeyList : public QListView {
  Q_OBJECT
 public:
  explicit KeyList(QWidget* parent = nullptr);

  void set_rows(std::vector<KeyRow> rows);
  void set_filter(const QString& filter);  // makes the first row that can be chosen the current one
  void move_current(int rows);             // of what is current, over headings
  int current_id() const;                  // -1: none
  const KeyRows& shown() const { return *model_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<KeyRow> rows_;
  KeyRows* model_;
};

}  // namespace foreshard::gui
