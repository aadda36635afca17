#include "gui/models/session/example.hpp"

#include <QCoreApplication>
#include <QFile>
#include <QTemporaryDir>
#include <utility>

namespace foreshard::gui {
namespace {

class ExampleWords {
  Q_DECLARE_TR_FUNCTIONS(Example)
};

// Readers want a file, which need not outlive its document.
Result<DocumentPtr> example_document(const QTemporaryDir& folder, const QString& name) {
  const QString resource = QStringLiteral(":/example/") + name;
  const QString file = folder.filePath(name);
  if (!QFile::copy(resource, file)) {
    return fail(resource.toStdString(), "", "cannot be read; expected the bundled example");
  }
  const auto read = open_document(QFile::encodeName(file).toStdString());
  if (!read) return tl::unexpected(read.error());
  auto document = std::make_shared<Document>(**read);
  document->title = name;
  document->detail = ExampleWords::tr("example");
  document->path.clear();
  return document;
}

}  // namespace

Result<std::vector<DocumentPtr>> example_documents() {
  const QTemporaryDir folder;
  std::vector<DocumentPtr> documents;
  for (const auto& name : {QStringLiteral("measured.fst.gz"), QStringLiteral("predicted.fst.gz")}) {
    auto document = example_document(folder, name);
    if (!document) return tl::unexpected(document.error());
    documents.push_back(std::move(*document));
  }
  return documents;
}

}  // namespace foreshard::gui
