#include "executor/graphs/graph_self_test.hpp"

#include <algorithm>
#include <stdexcept>

#include "executor/device/tags.hpp"
#include "models/base/figures.hpp"

namespace foreshard::executor {
namespace {

constexpr Stream kFirst = Stream::compute, kSecond = Stream::all_gather;
constexpr EventId kParted = 0, kMet = 1;
constexpr std::int64_t kValues = 1024, kBytes = kValues * 4, kSegment = std::int64_t{2} << 20;
constexpr int kInput = 0, kTerm = 1, kSum = 2;  // arrays of the device
constexpr int kGiven = 0, kResult = 1, kHostArrays = 2;
constexpr int kFills = 100;  // enough for marks of progress among them

// What went wrong; empty: nothing.
template <class Work>
std::string trouble_of(const Work& work) {
  try {
    work();
  } catch (const Aborted&) {
    throw;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

GraphSelfTest::GraphSelfTest(Device& device, const GroupCommunicators& communicators)
    : device_(device), segments_(VirtualSegments::kUnlimited, &device.backing()) {
  for (Communicator* const c : communicators) {
    const bool is_known = std::ranges::find(communicators_, c) != communicators_.end();
    if (c != nullptr && c->size() > 1 && !is_known) communicators_.push_back(c);
  }
  program_.events = 2;
}

GraphSelfTest::~GraphSelfTest() {
  graph_.reset();
  if (on_host_ != nullptr) device_.free_host(on_host_, {kHostArrays * kBytes});
}

std::string GraphSelfTest::run() {
  device_.begin(program_);
  const std::optional<Address> segment = segments_.reserve(kSegment, 0);
  if (!segment) {
    std::string trouble = "the device has no memory left in which to test graphs";
    if (communicators_.empty()) return trouble;
    throw std::runtime_error(trouble);
  }
  on_device_ = device_.pointer(*segment);
  on_host_ = device_.allocate_host({kHostArrays * kBytes});
  std::string trouble = try_graph();
  graph_.reset();
  segments_.release(*segment, kSegment);
  return trouble;
}

std::string GraphSelfTest::try_graph() {
  issue();  // the first time kernels are loaded and ranks connected
  device_.synchronize();
  std::string trouble = agreed(trouble_of([this] {
    graph_ = device_.capture([this] { issue(); });
    if (graph_ == nullptr) throw std::runtime_error("this device has none");
  }));
  if (!trouble.empty()) return trouble;
  return agreed(trouble_of([this] {
    for (const float factor : {1.0F, 3.0F}) launch(factor);
  }));
}

// The sum of what is given, and of what all ranks of each communicator are given.
void GraphSelfTest::issue() {
  const std::span<std::byte> input = on_device(kInput), term = on_device(kTerm),
                             sum = on_device(kSum);
  copy_in(input);
  device_.record(kFirst, kParted, next_tag());
  device_.wait(kSecond, kParted, next_tag());
  for (int i = 0; i < kFills; ++i) fill(sum);
  for (Communicator* const c : communicators_) {
    fill(term);
    add(kSecond, input, term);
    all_reduce(*c, kSecond, term);
    add(kSecond, term, sum);
  }
  device_.record(kSecond, kMet, next_tag());
  device_.wait(kFirst, kMet, next_tag());
  add(kFirst, input, sum);
  copy_out(sum);
}

void GraphSelfTest::launch(float factor) {
  const std::span<float> given = on_host(kGiven), result = on_host(kResult);
  float times = 1;
  for (const Communicator* const c : communicators_) times += static_cast<float>(c->size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    given[i] = factor * static_cast<float>(i % 64 + 1);
  }
  graph_->launch(0);
  device_.synchronize();
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (result[i] == times * given[i]) continue;
    throw std::runtime_error(formatted("a small one gives %g where %g is right",
                                       static_cast<double>(result[i]),
                                       static_cast<double>(times * given[i])));
  }
}

// This rank's trouble, or that another has some.
std::string GraphSelfTest::agreed(const std::string& trouble) {
  std::ranges::fill(on_host(kGiven), trouble.empty() ? 0.0F : 1.0F);
  copy_in(on_device(kSum));
  for (Communicator* const c : communicators_) all_reduce(*c, kFirst, on_device(kSum));
  copy_out(on_device(kSum));
  device_.synchronize();
  if (!trouble.empty()) return "graphs did not pass their test: " + trouble;
  return on_host(kResult)[0] == 0 ? "" : "graphs of another rank did not pass their test";
}

void GraphSelfTest::copy_in(std::span<std::byte> to) {
  device_.copy(kFirst, next_tag(), to, std::as_bytes(on_host(kGiven)).data());
}
void GraphSelfTest::copy_out(std::span<const std::byte> from) {
  device_.copy(kFirst, next_tag(), std::as_writable_bytes(on_host(kResult)), from.data());
}
void GraphSelfTest::fill(std::span<std::byte> values) {
  device_.fill(kSecond, next_tag(), values, std::byte{0});
}
void GraphSelfTest::add(Stream stream, std::span<const std::byte> term, std::span<std::byte> sum) {
  const CostKey key = {Operator::add, DType::fp32, DType::fp32, DType::fp32, {kValues}};
  device_.launch(stream, next_tag(), {key, {&term, 1}, {&sum, 1}});
}
void GraphSelfTest::all_reduce(Communicator& communicator, Stream stream,
                               std::span<std::byte> values) {
  communicator.all_reduce(stream, next_tag(), DType::fp32, Reduction::sum, values.data(), kValues);
}

std::span<std::byte> GraphSelfTest::on_device(int array) const {
  return {on_device_ + array * kBytes, static_cast<std::size_t>(kBytes)};
}
std::span<float> GraphSelfTest::on_host(int array) const {
  return {reinterpret_cast<float*>(on_host_ + array * kBytes), static_cast<std::size_t>(kValues)};
}

Tag GraphSelfTest::next_tag() {
  return unreported(tag_of(0, issued_++));
}

}  // namespace foreshard::executor
