// Escalation: a fault that a supervisor cannot mend reaches its parent, and nobody beside it.
#include "tree_support.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;
using enum exit_reason;

constexpr auto one = strategy::one_for_one;
constexpr auto all = strategy::one_for_all;
constexpr auto rest = strategy::rest_for_one;

// root: a worker x, then two supervisors of two workers each, then a worker z.
tree_spec two_teams(strategy root, std::uint32_t team_restarts, std::uint32_t failures = 10,
                    std::uint32_t root_restarts = 50) {
  auto spec = tree_spec::of(
      "root", flags(root, root_restarts),
      {worker("x"), below("left", flags(one, team_restarts), {worker("a"), worker("b")}, failures),
       below("right", flags(one, 5), {worker("c"), worker("d")}, failures), worker("z")});
  spec.spec.backoff = {seconds(1), 2.0, seconds(8), 0.0};
  return spec;
}

TEST_CASE(
    "a tree starts from left to right, each subtree before its next sibling, and stops back") {
  tree_bench b(two_teams(one, 5));
  CHECK(b.start() == "+x +a +b +c +d +z up");
  CHECK(b.stop() == "-z -d -c -b -a -x end");
}

TEST_CASE("a subtree holds up its next sibling until it is started") {
  tree_bench b(two_teams(one, 5));
  b.slow = {"b"};
  CHECK(b.start() == "+x +a +b");
  CHECK(b.started("b") == "+c +d +z up");
}

TEST_CASE(
    "a supervisor that exceeds its intensity fails as a child; its parent's strategy applies") {
  struct row {
    strategy root;
    const char* ordered;
  };
  for (const row& r : {row{one, "-b +a +b"}, row{rest, "-b -z -d -c +a +b +c +d +z"},
                       row{all, "-b -z -d -c -x +x +a +b +c +d +z"}}) {
    CAPTURE(to_string(r.root));
    tree_bench b(two_teams(r.root, 1));
    b.start();
    CHECK(b.exits("a") == "+a");
    CHECK(b.exits("a") == r.ordered);
    CHECK(b.exits("a") == "+a");  // it was started anew, its record with it
  }
}

TEST_CASE("restarts of all children count for their supervisor, over a sliding period") {
  tree_bench b(two_teams(one, 2));
  b.start();
  CHECK(b.exits("a") == "+a");
  b.pass(seconds(5));
  CHECK(b.exits("b") == "+b");
  b.pass(seconds(5));
  CHECK(b.exits("a") == "+a");
  b.pass(milliseconds(4'999));
  CHECK(b.exits("b") == "-a +a +b");
}

TEST_CASE("a subtree that keeps failing waits, while all beside it serves") {
  tree_bench b(two_teams(one, 0, 1));
  b.start();
  CHECK(b.exits("a") == "-b +a +b");
  CHECK(b.exits("b") == "-a");
  CHECK(b.exits("c") == "+c");
  CHECK(b.exits("x") == "+x");
  CHECK(b.pass(seconds(1)) == "+a +b");
  CHECK(b.exits("b") == "-a");
  CHECK(b.pass(milliseconds(1'999)).empty());
  CHECK(b.pass(milliseconds(1)) == "+a +b");
}

TEST_CASE("failures climb as far as they must, one supervisor at a time") {
  tree_bench b(tree_spec::of(
      "root", flags(one, 50),
      {below("outer", flags(one, 1),
             {below("inner", flags(one, 1), {worker("a"), worker("b")}), worker("c")}),
       worker("z")}));
  b.start();
  CHECK(b.exits("a") == "+a");
  CHECK(b.exits("a") == "-b +a +b");  // inner, restarted by outer
  CHECK(b.exits("a") == "+a");
  CHECK(b.exits("a") == "-b -c +a +b +c");  // inner for the second time: outer, by root
}

TEST_CASE("a root that exceeds its intensity waits, longer each time, and never ends") {
  tree_bench b(two_teams(one, 0, 10, 0));
  b.start();
  CHECK(b.exits("a") == "-b -z -d -c -x");
  CHECK(b.pass(milliseconds(999)).empty());
  CHECK(b.pass(milliseconds(1)) == "+x +a +b +c +d +z up");
  CHECK(b.exits("x") == "-z -d -c -b -a");
  CHECK(b.pass(milliseconds(1'999)).empty());
  CHECK(b.pass(milliseconds(1)) == "+x +a +b +c +d +z up");
}

TEST_CASE("a stop while the root waits ends at once") {
  tree_bench b(two_teams(one, 0, 10, 0));
  b.start();
  b.exits("x");
  CHECK(b.stop() == "end");
  CHECK(b.pass(seconds(60)).empty());
}

TEST_CASE("a temporary supervisor that has failed stays down, the rest stays up") {
  auto spec = two_teams(one, 0);
  spec.children[1].spec.restart = restart_type::temporary;
  tree_bench b(spec);
  b.start();
  CHECK(b.exits("a") == "-b");
  CHECK(b.pass(seconds(60)).empty());
  CHECK(b.stop() == "-z -d -c -x end");
}

TEST_CASE("a supervisor whose shutdown time is over kills all of its children at once") {
  auto spec = two_teams(one, 5);
  spec.children[1].spec.shutdown = seconds(1);
  tree_bench b(spec);
  b.start();
  b.deaf = {"a", "b"};
  CHECK(b.stop() == "-z -d -c -b");
  CHECK(b.pass(seconds(1)) == "!b !a -x end");
}

TEST_CASE("a failing supervisor waits for its deaf child before its parent hears of it") {
  tree_bench b(two_teams(one, 0));
  b.start();
  b.deaf = {"b"};
  CHECK(b.exits("a") == "-b");
  CHECK(b.exits("c") == "+c");
  CHECK(b.pass(seconds(5)) == "!b +a +b");
}

TEST_CASE("a dynamic supervisor in a tree comes back without the children it had") {
  tree_bench b(
      tree_spec::of("root", flags(one),
                    {below("pool", flags(strategy::simple_one_for_one, 0), {worker("template")})}));
  b.start();
  const auto first = b.tree->start_child(1, b.time.now());
  REQUIRE(first);
  b.tree->start_child(1, b.time.now());
  b.tree->worker_exited(*first, fault, b.time.now());
  CHECK(b.tree->at(1).running());
  CHECK(b.tree->at(1).which_children().empty());
  CHECK(b.tree->id(1) == "pool");
}

}  // namespace
}  // namespace bulkhead::supervision
