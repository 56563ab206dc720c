#include <bulkhead/runtime/log.hpp>
#include <bulkhead/tls/configuration_store.hpp>
#include <bulkhead/tls/file_signature.hpp>

#include <algorithm>
#include <exception>
#include <optional>

namespace bulkhead::tls {

namespace {

using contexts_list = std::vector<std::shared_ptr<const context>>;

std::vector<std::string> paths_of(const options& o) {
  std::vector<std::string> paths;
  for (const identity_files& files : o.identities) {
    paths.push_back(files.certificate);
    paths.push_back(files.key);
  }
  if (!o.client_ca.empty()) paths.push_back(o.client_ca);
  return paths;
}

result<contexts_list> make_contexts(const std::shared_ptr<const configuration>& of, unsigned shards,
                                    const std::shared_ptr<ticket_key_ring>& keys) {
  contexts_list made;
  for (unsigned i = 0; i < shards; ++i) {
    auto one = context::make(of, keys);
    if (!one) return one.why();
    made.push_back(std::move(*one));
  }
  return made;
}

}  // namespace

struct configuration_store::state {
  state(options o, unsigned s, runtime::timer_wheel& t, const runtime::clock& c)
      : source(std::move(o)),
        files(paths_of(source)),
        shards(std::max(s, 1U)),
        timers(t),
        time(c),
        keys(std::make_shared<ticket_key_ring>(c.now())),
        keys_due(c.now() + source.ticket_lifetime) {}

  options source;
  std::vector<std::string> files;
  unsigned shards;
  runtime::timer_wheel& timers;
  const runtime::clock& time;
  std::shared_ptr<ticket_key_ring> keys;
  runtime::steady_time keys_due;

  std::shared_ptr<const configuration> current;
  contexts_list contexts;
  file_signature seen;  // of the files as of the last load, successful or not

  publish on_rotation;
  runtime::milliseconds interval{0};
  runtime::timer timer{&expired, this};

  bool second_look = false;  // at files that were read and have not changed since
  std::string last_failure;
  std::uint64_t rotations = 0;
  std::uint64_t failed_reloads = 0;

  [[nodiscard]] std::optional<error> load_first();
  reload_outcome reload();
  reload_outcome replace();
  reload_outcome keep(const error& why);
  void poll();
  void rotate_keys();
  void arm();
  static void expired(void* self) noexcept;
};

std::optional<error> configuration_store::state::load_first() {
  seen = file_signature::of(files);
  auto loaded = configuration::load(source);
  if (!loaded) return loaded.why();
  auto made = make_contexts(*loaded, shards, keys);
  if (!made) return made.why();
  current = std::move(*loaded);
  contexts = std::move(*made);
  return std::nullopt;
}

configuration_store::reload_outcome configuration_store::state::reload() {
  // Before reading: what changes while we read is then seen as a change by the next look.
  seen = file_signature::of(files);
  try {
    return replace();
  } catch (const std::exception& e) {  // out of memory: the one in force still serves
    return keep({error_category::resource, std::string("TLS configuration: ") + e.what()});
  }
}

configuration_store::reload_outcome configuration_store::state::replace() {
  auto loaded = configuration::load(source);
  if (!loaded) return keep(loaded.why());
  if ((*loaded)->digest() == current->digest()) {
    last_failure.clear();
    return reload_outcome::unchanged;
  }
  auto made = make_contexts(*loaded, shards, keys);
  if (!made) return keep(made.why());
  current = std::move(*loaded);
  contexts = std::move(*made);
  last_failure.clear();
  ++rotations;
  for (const std::string& line : current->describe())
    runtime::log::info("tls", "configuration rotated: " + line);
  if (on_rotation) on_rotation(contexts);
  return reload_outcome::rotated;
}

configuration_store::reload_outcome configuration_store::state::keep(const error& why) {
  const bool same = why.message() == last_failure;
  if (!same || !second_look) ++failed_reloads;
  if (!same) {
    last_failure = why.message();
    runtime::log::warn("tls", "keeping the last good configuration: " + last_failure);
  }
  return reload_outcome::kept_last_good;
}

void configuration_store::state::poll() {
  if (time.now() >= keys_due) rotate_keys();
  if (interval <= runtime::milliseconds::zero()) return;
  // A signature that had not settled proves nothing: the files are read once more.
  const bool changed = !(file_signature::of(files) == seen);
  if (!changed && seen.settled()) return;
  second_look = !changed;
  reload();
  second_look = false;
}

void configuration_store::state::rotate_keys() {
  keys->rotate(time.now());
  keys_due = time.now() + source.ticket_lifetime;
}

void configuration_store::state::arm() {
  runtime::steady_time next = keys_due;
  if (interval > runtime::milliseconds::zero()) next = std::min(next, time.now() + interval);
  timers.arm(timer, next);
}

void configuration_store::state::expired(void* self) noexcept {
  auto& s = *static_cast<state*>(self);
  s.poll();
  s.arm();
}

configuration_store::configuration_store(std::unique_ptr<state> s) : state_(std::move(s)) {}
configuration_store::~configuration_store() = default;

result<std::unique_ptr<configuration_store>> configuration_store::open(options o, unsigned shards,
                                                                       runtime::timer_wheel& timers,
                                                                       const runtime::clock& time) {
  auto s = std::make_unique<state>(std::move(o), shards, timers, time);
  if (auto why = s->load_first()) return *why;
  return std::unique_ptr<configuration_store>(new configuration_store(std::move(s)));
}

void configuration_store::watch(runtime::milliseconds interval, publish p) {
  state_->interval = interval;
  state_->on_rotation = std::move(p);
  state_->arm();
}

configuration_store::reload_outcome configuration_store::reload() {
  return state_->reload();
}

const contexts_list& configuration_store::contexts() const noexcept {
  return state_->contexts;
}
std::uint64_t configuration_store::rotations() const noexcept {
  return state_->rotations;
}
std::uint64_t configuration_store::failed_reloads() const noexcept {
  return state_->failed_reloads;
}
const std::shared_ptr<ticket_key_ring>& configuration_store::keys() const noexcept {
  return state_->keys;
}
const std::string& configuration_store::last_failure() const noexcept {
  return state_->last_failure;
}

}  // namespace bulkhead::tls
