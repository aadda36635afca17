// The what-if panel's state: settings that change, and the predictions that follow them.
//
// Every change asks for a prediction off the window's thread; of several that wait the newest is
// taken, and an answer never replaces one to a newer request. The last good answer stays while
// another is under way and where settings are wrong; views tell it apart when it is outdated. When the settings have rested for 150 ms,
// what lies around them is surveyed, and their predicted run becomes a document.
#pragma once

#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/session/document.hpp"
#include "gui/models/what_if/surroundings.hpp"

namespace foreshard::gui {

// A variant that was kept to compare others with.
struct Pin {
  QString letter;  // "A"
  QString name;
  OutcomePtr outcome;
};

class WhatIf : public QObject {
  Q_OBJECT
 public:
  static constexpr int kRestMs = 150, kSlowMs = 100;

  explicit WhatIf(QObject* parent = nullptr);
  ~WhatIf() override;

  // Starts anew from there: what is changed and reset is counted from it.
  void start_from(WhatIfSettings settings);
  // The same, so that it can be undone.
  void rebase(WhatIfSettings settings);
  // From the run of a trace, whose costs are fitted off the window's thread.
  void start_from_trace(std::shared_ptr<const traces::Trace> trace, const QString& title);
  // Without an answer, until something is changed or another start made.
  void start_from_nothing(const QString& why);
  // Why there is no answer; empty where there is one.
  const QString& why_nothing() const { return why_nothing_; }
  bool is_starting() const { return starting_.is_busy(); }  // costs are being fitted
  const WhatIfSettings& start() const { return start_; }
  const WhatIfSettings& settings() const { return settings_; }

  // Changes that can be undone; a change to what holds already is none.
  void change(WhatIfSettings settings);
  void set_value(const std::string& key, const std::string& value);
  void apply(const Changes& changes) { change(with(settings_, changes)); }
  // Of the catalogue; else those of the start, which are shown beside them.
  void set_model(const std::string& name);
  void set_machine(const std::string& id);
  void set_ranks(int ranks);  // and as many nodes as hold them, if there are fewer
  void reset() { change(start_); }
  // The changes between them, as while a slider is dragged, are undone at once.
  void begin_drag();
  void end_drag();
  void undo();
  void redo();
  bool can_undo() const { return !undone_from_.empty(); }
  bool can_redo() const { return !redone_from_.empty(); }
  // Keys that differ from the start, by the names of controls.
  std::vector<std::string> changed_keys() const { return differences_of(settings_); }

  void set_sweep(SweepKeys keys);
  const SweepKeys& sweep() const { return sweep_; }

  void pin();
  void unpin(std::size_t pin);
  const std::vector<Pin>& pins() const { return pins_; }
  QString next_letter() const;
  // By what differs from the start: "selective, micro-batch 2".
  QString name_of(const WhatIfSettings& settings) const;

  // The last good answer; null before the first. Its settings are those it answers.
  const OutcomePtr& outcome() const { return outcome_; }
  // What is wrong with the settings.
  const std::optional<Error>& error() const { return error_; }
  // Whether the answer is to older settings.
  bool is_stale() const { return outcome_ == nullptr || !(outcome_->settings == settings_); }
  // Whether views tell the answer apart, as being to older settings: these are wrong, or what they
  // bring is awaited for long.
  bool is_outdated() const { return is_stale() && (error_ || is_late_); }
  // Null until they are surveyed, and as long as they are of older settings.
  const std::shared_ptr<const Surroundings>& surroundings() const { return surroundings_; }
  bool is_busy() const;

 Q_SIGNALS:
  void started();  // anew, with or without an answer
  void settings_changed();
  void outcome_changed();
  void outdated_changed();
  void surroundings_changed();
  void pins_changed();
  void busy_changed();
  void document_changed(DocumentPtr document);

 private:
  struct Started {
    Result<WhatIfSettings> settings;
  };

  std::vector<std::string> differences_of(const WhatIfSettings& settings) const;
  void keep(WhatIfSettings settings);  // to return to
  void take(WhatIfSettings settings);
  void use(const OutcomePtr& outcome);
  void rested();
  void publish();

  WhatIfSettings start_, settings_;
  QString why_nothing_;
  std::vector<WhatIfSettings> undone_from_, redone_from_;  // the last is the nearest
  std::optional<WhatIfSettings> dragged_from_;
  SweepKeys sweep_;
  std::vector<Pin> pins_;
  int letters_ = 0;
  OutcomePtr outcome_;
  std::optional<Error> error_;
  std::shared_ptr<const Surroundings> surroundings_;
  bool is_moved_ = false;  // by hand, so that other views follow
  bool is_late_ = false;   // the answer
  QTimer rest_, lateness_;

  std::shared_ptr<Predictor> predictor_ = std::make_shared<Predictor>();
  NewestResult<OutcomePtr> prediction_;
  NewestResult<std::shared_ptr<const Surroundings>> survey_;
  NewestResult<DocumentPtr> publication_;
  NewestResult<std::shared_ptr<const Started>> starting_;
};

}  // namespace foreshard::gui
