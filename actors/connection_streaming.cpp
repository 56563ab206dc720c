// A connection's response whose content comes piece by piece.
#include <bulkhead/actors/connection_core.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace bulkhead::actors {

namespace {

// Taken from a source at once: a few TLS records, so that head, size line and end share them.
constexpr std::size_t most_at_once = 60UL * 1024;

}  // namespace

// Exists only while there is such a response. Queued in the loop when its source has news: the
// source may call from inside another connection's turn. Outlives the connection while queued.
class connection_core::streaming final : public runtime::runnable {
 public:
  streaming(connection_core& of, std::shared_ptr<http::body_source> source, bool chunked) noexcept
      : of_(&of), source_(std::move(source)), chunked_(chunked) {
    source_->listen(
        [](void* self) noexcept {
          auto& s = *static_cast<streaming*>(self);
          if (std::exchange(s.queued_, true)) return;
          s.of_->env_.shard.schedule(s);
        },
        this);
  }

  [[nodiscard]] http::body_source& source() const noexcept { return *source_; }
  [[nodiscard]] bool chunked() const noexcept { return chunked_; }

  // The connection has done with it.
  static void let_go(streaming* s) noexcept {
    s->source_->listen(nullptr, nullptr);
    s->source_.reset();
    s->of_ = nullptr;
    if (!s->queued_) delete s;
  }

 private:
  ~streaming() = default;
  void run(runtime::shard&) noexcept override {
    queued_ = false;
    if (of_ == nullptr) {
      delete this;
    } else {
      of_->stream_has_news();
    }
  }

  connection_core* of_;
  std::shared_ptr<http::body_source> source_;
  bool chunked_;
  bool queued_ = false;
};

void connection_core::stream_deleter::operator()(streaming* s) const noexcept {
  streaming::let_go(s);
}

void connection_core::begin_stream(std::shared_ptr<http::body_source> source, bool chunked) {
  stream_.reset(new streaming(*this, std::move(source), chunked));
}

// Puts what the source has into the turn's output. False when there is nothing, or nothing any
// more.
bool connection_core::fill_from_stream() {
  std::string_view bytes;
  std::string& text = env_.output.text();
  switch (stream_->source().next(bytes)) {
    case http::body_source::state::ready: {
      const std::string_view piece = bytes.substr(0, most_at_once);
      if (stream_->chunked()) http::serializer::write_chunk_size(piece.size(), text);
      text += piece;
      if (stream_->chunked()) text += "\r\n";
      stream_->source().consume(piece.size());
      return true;
    }
    case http::body_source::state::waiting:
      return false;
    case http::body_source::state::ended:
      if (stream_->chunked()) text += http::serializer::last_chunk;
      stream_.reset();
      --in_flight_;
      ++unsent_responses_;
      if (!close_after_) answer_queue();
      // Its head promised more requests before there was a reason to take none.
      if ((draining_ || no_more_requests_) && in_flight_ == 0 && !request_arriving()) {
        if (draining_) ending_ = ending::stopped;
        close_after_ = true;
      }
      return true;
    case http::body_source::state::failed:
      stream_.reset();
      --in_flight_;
      env_.counters.trapped.add();
      finish(ending::cut);
      return false;
  }
  return false;
}

}  // namespace bulkhead::actors
