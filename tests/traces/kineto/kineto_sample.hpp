// Small hand-made recordings of PyTorch's profiler, and files to put them into.
#pragma once

#include <string>

#include "tests/traces/sample_trace.hpp"
#include "traces/import.hpp"

namespace foreshard::traces {

// Two steps of a unit "layers.0" on one GPU as today's profiler writes them: FSDP ranges, a matrix
// product with its kernel, an all-gather, memory. The clock begins at 1,000 s.
std::string kineto_sample();

// As in 2021: a bare array, other categories, threads as text.
std::string kineto_sample_of_2021();

// `events` (JSON objects, joined by commas) with what a file needs around them.
std::string kineto_file(const std::string& events, const std::string& more = "");

// Writes a file into the folder and returns its path.
std::string write_gzip(const TemporaryFolder& folder, const std::string& name,
                       const std::string& content);

// The one trace of a file with this content; a test failure and an empty trace where there is none.
Trace import_text(const std::string& content, const ImportOptions& options = {});

// The only event of that name.
Event event_named(const Trace& trace, const std::string& name);

}  // namespace foreshard::traces
