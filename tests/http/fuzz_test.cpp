#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "wire_cases.hpp"
#include "wire_replay.hpp"

namespace bulkhead::http::test {
namespace {

// Bytes that mean something to a parser of HTTP, more often than chance would have them.
using namespace std::string_view_literals;
constexpr std::string_view spice =
    "\r\n \t:,;/?#%.*0123456789abcdefAFHTPG\x00\x7f\x80\xff\"\\=[]"sv;

using generator = std::mt19937;

std::size_t below(generator& random, std::size_t bound) {
  return random() % bound;
}

std::string mutated(std::string text, const std::string& other, generator& random) {
  for (std::size_t n = 1 + below(random, 4); n-- > 0 && !text.empty();) {
    const std::size_t at = below(random, text.size());
    switch (below(random, 6)) {
      case 0:
        text[at] = spice[below(random, spice.size())];
        break;
      case 1:
        text.insert(at, 1, spice[below(random, spice.size())]);
        break;
      case 2:
        text.erase(at, 1 + below(random, 3));
        break;
      case 3:
        text.insert(at, text.substr(below(random, text.size()), below(random, 20)));
        break;
      case 4:
        text.insert(at, other.substr(below(random, other.size() + 1), below(random, 30)));
        break;
      default:
        text[at] = static_cast<char>(random());
        break;
    }
  }
  return text;
}

std::vector<std::size_t> random_cuts(std::size_t size, generator& random) {
  std::vector<std::size_t> cuts;
  const std::size_t longest = 1 + below(random, size + 1);
  for (std::size_t at = 1 + below(random, longest); at < size; at += 1 + below(random, longest)) {
    cuts.push_back(at);
  }
  return cuts;
}

void fuzz(std::uint32_t seed, int rounds) {
  const std::vector<wire_case> cases = load_wire_cases();
  generator random(seed);
  for (int round = 0; round < rounds; ++round) {
    const wire_case& c = cases[below(random, cases.size())];
    if (c.input.size() > 600) continue;
    limits l = c.bounds;
    if (below(random, 2) == 0) {
      l = {.request_line = 1 + below(random, 40),
           .field_section = below(random, 80),
           .fields = below(random, 5),
           .body = below(random, 30)};
    }
    const std::string input = mutated(c.input, cases[below(random, cases.size())].input, random);
    CAPTURE(c.name);
    CAPTURE(escaped(input));
    const std::string whole = replay(input, l);
    const std::string bytes = replay_byte_by_byte(input, l);
    if (bytes != whole) CHECK(bytes == whole);
    for (int i = 0; i < 3; ++i) {
      const std::vector<std::size_t> cuts = random_cuts(input.size(), random);
      const std::string split = replay(input, l, cuts);
      if (split != whole) CHECK(split == whole);
    }
  }
}

}  // namespace

TEST_CASE("mutated requests cause the same events for any split, and never a bad access") {
  fuzz(20260101, 20000);
}

// Another seed and length by hand: BULKHEAD_FUZZ="seed rounds".
TEST_CASE("mutated requests of a chosen seed") {
  const char* wish = std::getenv("BULKHEAD_FUZZ");
  if (wish == nullptr) return;
  char* rest = nullptr;
  const auto seed = static_cast<std::uint32_t>(std::strtoul(wish, &rest, 10));
  fuzz(seed, static_cast<int>(std::strtol(rest, nullptr, 10)));
}

}  // namespace bulkhead::http::test
