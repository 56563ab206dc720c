#include <doctest/doctest.h>

#include "wire_cases.hpp"
#include "wire_replay.hpp"

namespace bulkhead::http::test {

TEST_CASE("every wire case causes its events, whole, split at every byte and byte by byte") {
  const std::vector<wire_case> cases = load_wire_cases();
  CHECK(cases.size() >= 100);
  for (const wire_case& c : cases) {
    CAPTURE(c.name);
    const std::string whole = replay(c.input, c.bounds);
    INFO("happened:\n" << whole << "expected:\n" << c.events);
    CHECK(matches(whole, c.events));
    CHECK_MESSAGE(replay_byte_by_byte(c.input, c.bounds) == whole, "byte by byte");
    // Long inputs are repetitions; their ends are where something happens.
    const std::size_t step = c.input.size() > 2000 ? 97 : 1;
    for (std::size_t cut = 1; cut < c.input.size(); cut += step) {
      CAPTURE(cut);
      const std::string split = replay(c.input, c.bounds, {cut});
      if (split == whole) continue;
      CHECK(split == whole);
      break;
    }
  }
}

}  // namespace bulkhead::http::test
