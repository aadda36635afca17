// What the viewer says about the state of a file: one sentence for each, in the words that every place
// of the window uses.
#pragma once

#include <QString>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/session/document.hpp"
#include "gui/models/session/loader.hpp"
#include "gui/models/session/part_offer.hpp"

namespace foreshard::gui {

struct Statement {
  Role state = Role::ok;  // ok, warn or error
  QString text;
};

QString nothing_open();
QString loading_text(const Loading& loading);
// Why a file could not be opened: foreign, of a newer version, damaged, absent.
QString error_text(const Error& error);
// What is to be known before a document is read: empty, incomplete, cut short, records dropped.
// Nothing where all is well.
std::vector<Statement> warnings(const Document& document);

// " · rank 3" behind the title of what is of one rank, where the document has several.
QString of_rank(const Document& document, int rank);

// Records that were to be there and are not; what an importer leaves out on purpose is not lost.
std::int64_t lost_records(const Document& document);

// The same as warnings() for the status bar, shorter: completeness, dropped records, sources of costs.
std::vector<Statement> status_of(const Document& document);

// What opening takes and what is there, where the former is more; nothing otherwise.
QString too_large_text(std::int64_t needed_bytes, std::int64_t free_bytes);
// A question about two steps that are chosen in the places of %1 and %2.
QString part_question();
// Why a recording cannot be opened in part, and what to do instead.
QString no_part_text(const PartOffer& offer);

}  // namespace foreshard::gui
