#include <bulkhead/supervision/handler_pool_state.hpp>
#include <bulkhead/supervision/unavailable.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace bulkhead::supervision {

call_ptr handler_pool_state::next_waiting(const caf::actor& instance) {
  while (!waiting.empty()) {
    call_ptr c = std::move(waiting.front());
    waiting.pop_front();
    if (c->begin(instance.id())) return c;
  }
  return nullptr;
}

handler_pool_state::step handler_pool_state::next(const caf::actor& instance, call_ptr& out) {
  const std::lock_guard lock(mutex);
  out = next_waiting(instance);
  if (out) return step::serve;
  if (stopping) return step::quit;
  idle.push_back(instance);
  return step::idle;
}

void handler_pool_state::turn_away_waiting() {
  std::deque<call_ptr> left;
  {
    const std::lock_guard lock(mutex);
    left.swap(waiting);
  }
  const auto wait = supervisor.backing_off().value_or(std::chrono::seconds(1));
  for (const call_ptr& c : left) {
    supervisor.give_back(c->request().id());
    if (c->claim()) c->deliver(unavailable(wait), actors::verdict::completed);
  }
}

pooled_call::stage handler_pool_state::give_up(pooled_call& c) {
  // Claimed under the lock, so that an instance which finds its call claimed finds itself in
  // `late`.
  const std::lock_guard lock(mutex);
  const auto was = c.at();  // one that waits can only begin under the lock
  if (!c.claim()) return pooled_call::stage::over;
  if (was == pooled_call::stage::waiting) {
    const auto found = std::find_if(waiting.begin(), waiting.end(),
                                    [&](const call_ptr& w) { return w.get() == &c; });
    if (found != waiting.end()) waiting.erase(found);
    return was;
  }
  late.push_back(c.instance());
  if (threads.take()) {
    --alive;
  } else {
    ++unreplaced;
  }
  return was;
}

bool handler_pool_state::came_back() {
  const std::lock_guard lock(mutex);
  // Which of them came back does not matter: threads are all alike.
  if (unreplaced == 0) {
    threads.give_back();
    return replace_late();
  }
  --unreplaced;
  --alive;
  return !stopping;
}

bool handler_pool_state::replace_late() {
  while (unreplaced != 0 && threads.take()) {
    --unreplaced;
    --alive;
  }
  return !stopping && alive < size;
}

void handler_pool_state::ended_instance(std::uint64_t id) {
  const std::lock_guard lock(mutex);
  if (std::erase(late, id) == 0) --alive;
  std::erase_if(idle, [&](const caf::actor& a) { return a.id() == id; });
  if (quiet()) ended.notify_all();
}

}  // namespace bulkhead::supervision
