// A list of events is a vector of them, whatever is done to it; it only takes less room.
#include "traces/event_list.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foreshard::traces {
namespace {

Event any_event() {
  Event event;
  event.start_ns = *rc::gen::inRange(-50, 50);
  event.end_ns = event.start_ns + *rc::gen::inRange(0, 9);
  // Some last as long as rows can say, longer, or end before they start.
  event.end_ns += *rc::gen::element<std::int64_t>(0, 0, 0, UINT32_MAX - 5, 1LL << 40, -20);
  event.lane = *rc::gen::inRange(0, 3);
  event.step = *rc::gen::inRange(0, 3);
  event.kind = *rc::gen::element(EventKind::host, EventKind::compute);
  event.micro_step = static_cast<std::int16_t>(*rc::gen::inRange(-1, 2));
  event.name = *rc::gen::inRange(0, 100);
  event.cost_source = *rc::gen::element(CostSource::none, CostSource::fitted);
  event.cost_error = *rc::gen::element(0.0F, 0.25F);
  event.cpu_ns = *rc::gen::element<std::int64_t>(-1, -1, -1, 7, 8);
  event.correlation = *rc::gen::element<std::int64_t>(0, 0, 0, 1);
  return event;
}

bool is_before(const Event& a, const Event& b) {
  return std::tie(a.lane, a.start_ns) < std::tie(b.lane, b.start_ns);
}

void require_equal(const EventList& list, const std::vector<Event>& events) {
  RC_ASSERT(list.size() == events.size());
  RC_ASSERT(list.empty() == events.empty());
  RC_ASSERT(std::equal(list.begin(), list.end(), events.begin(), events.end()));
  if (events.empty()) return;
  RC_ASSERT(list.front() == events.front());
  RC_ASSERT(list.back() == events.back());
}

RC_GTEST_PROP(EventList, IsAVectorOfEvents, ()) {
  EventList list;
  std::vector<Event> events;
  const int operations = *rc::gen::inRange(1, 60);
  for (int n = 0; n < operations; ++n) {
    const int operation = *rc::gen::inRange(0, 12);
    const auto at = events.empty() ? 0 : *rc::gen::inRange<std::size_t>(0, events.size());
    if (events.empty() || operation < 6) {
      events.push_back(any_event());
      list.push_back(events.back());
    } else if (operation == 6) {
      list.set(at, events[at] = any_event());
    } else if (operation == 7) {
      const auto later = [](Event& event) { event.start_ns -= 3, event.cpu_ns = event.lane; };
      later(events[at]);
      list.update(at, later);
    } else if (operation == 8) {
      const auto renamed = [](Event& event) { ++event.name; };
      std::for_each(events.begin(), events.end(), renamed);
      list.update_all(renamed);
    } else if (operation == 9) {
      const auto is_unwanted = [](const Event& event) { return event.name % 5 == 0; };
      RC_ASSERT(erase_if(list, is_unwanted) == std::erase_if(events, is_unwanted));
    } else if (operation == 10) {
      events.resize(at);
      list.truncate(at);
    } else {
      std::stable_sort(events.begin(), events.end(), is_before);
      list.stable_sort(is_before);
    }
    require_equal(list, events);
  }
  const EventList copy(events.begin(), events.end());
  require_equal(copy, events);
}

TEST(EventList, FindsByBinarySearchAndPointsToEvents) {
  EventList list;
  for (int n = 0; n < 1000; ++n) {
    Event event;
    event.start_ns = 3 * n;
    event.name = n % 7;
    list.push_back(event);
  }
  const EventPointer found =
      std::lower_bound(list.begin(), list.end(), 1500,
                       [](const Event& event, std::int64_t ns) { return event.start_ns < ns; });
  EXPECT_EQ(found - list.begin(), 500);
  EXPECT_EQ(found->name, 500 % 7);
  EXPECT_EQ(found, list.pointer_to(500));
  EXPECT_NE(found, nullptr);
  EXPECT_FALSE(EventPointer());
  const EventList::Span part = EventList::Span(list).subspan(10, 5);
  EXPECT_EQ(part.size(), 5u);
  EXPECT_EQ(part.front().start_ns, 30);
  EXPECT_EQ(part.back().start_ns, 42);
}

TEST(EventList, KeepsWhatEventsHaveInCommonOnce) {
  constexpr std::size_t kEvents = 100'000;
  EventList events;
  MemoryEventList memory;
  events.reserve(kEvents);
  memory.reserve(kEvents);
  for (std::size_t n = 0; n < kEvents; ++n) {
    const auto time = static_cast<std::int64_t>(n);
    Event event;
    event.start_ns = event.end_ns = time;
    event.step = static_cast<std::int32_t>(n / 100);
    event.name = static_cast<StringId>(n % 100);
    events.push_back(event);
    MemoryEvent block;
    block.time_ns = block.address = time;
    block.bytes = time % 100;
    memory.push_back(block);
  }
  EXPECT_EQ(events.distinct_facts(), 100u);
  EXPECT_EQ(memory.distinct_facts(), 100u);
  EXPECT_LT(events.bytes(), 21 * kEvents);
  EXPECT_LT(memory.bytes(), 25 * kEvents);
}

}  // namespace
}  // namespace foreshard::traces
