// What a connection does, whoever it is: socket bytes to TLS to HTTP to a handler, and back.
//
// Lives on one shard. The connection actor and the worker twin's plain connection both derive from
// it, so that benchmarks compare actors and nothing else. Every entry point is guarded: what
// escapes it ends this connection and is reported to on_fault().
#pragma once

#include <bulkhead/actors/environment.hpp>
#include <bulkhead/http/request_parser.hpp>
#include <bulkhead/runtime/endpoint.hpp>
#include <bulkhead/runtime/transport.hpp>
#include <bulkhead/tls/session.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bulkhead::actors {

// Why a connection ended.
enum class ending : std::uint8_t {
  clean,      // both sides agreed, or the peer left between requests
  peer_gone,  // reset, truncated or left in the middle of something
  timed_out,  // a deadline of `timeouts`
  refused,    // bad TLS, bad HTTP, plain HTTP on a TLS port
  stopped,    // the server stopped
  cut,        // a response that had begun could not be completed
  fault,      // a defect of ours
};
[[nodiscard]] std::string_view to_string(ending how) noexcept;

class connection_core : public runtime::transport_events, public exchange_owner {
 public:
  connection_core(const connection_core&) = delete;
  connection_core& operator=(const connection_core&) = delete;

  // Starts on a connected transport. `secure`: TLS is expected.
  void open(runtime::transport_ptr transport, const runtime::peer_address& peer, bool secure);
  // Ends after the requests that are in flight; an idle connection ends at once.
  void drain() noexcept;
  // Ends now.
  void abort(ending how) noexcept;

  [[nodiscard]] bool over() const noexcept { return phase_ == phase::over; }
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return in_flight_; }

  // -- transport_events, exchange_owner

  void on_received(std::span<const std::byte> bytes) noexcept final;
  void on_receive_end(runtime::receive_end how) noexcept final;
  void on_sent() noexcept final;
  void on_answered(exchange& x) noexcept final;

 protected:
  explicit connection_core(environment& env) noexcept;
  ~connection_core();

  // The last thing that the core does; the object may be given up from here.
  virtual void on_over(ending how) noexcept = 0;
  // An exception reached an entry point. The core ends after this, with ending::fault.
  virtual void on_fault(std::exception_ptr why) noexcept = 0;
  // When it is over, and on its shard: the rest of the object may be kept alive by others, and end
  // on their threads.
  void release_session() noexcept;

  environment& env_;

 private:
  enum class phase : std::uint8_t {
    waiting,      // TLS expected, no full record yet: no TLS object exists
    handshaking,  // TLS object exists
    open,
    lingering,  // everything is sent, waiting for the peer to close
    over,
  };

  template <class F>
  void guarded(F&& f) noexcept;
  void finish(ending how) noexcept;

  // -- receiving
  void first_bytes(std::span<const std::byte> bytes);
  void refuse_plain_http();
  void say_last(std::string_view bytes);
  void pump();
  void read_what_is_there();
  [[nodiscard]] bool request_arriving() const noexcept;
  [[nodiscard]] bool may_read() const noexcept;
  void consume(std::string_view plaintext);
  void say_continue();
  void take_parser();
  void give_parser_back();
  void hold(std::string_view plaintext);
  void established();
  void peer_closed(bool clean);
  void session_failed();

  // -- requests
  void begin_request();
  void dispatch(exchange_ref x);
  void answer_in_turn(exchange& x);
  void answer_queue();
  void refuse(std::uint16_t status, std::string_view why);
  void line_up(exchange& x) noexcept;
  void drop_exchanges() noexcept;

  // -- sending
  void flush();
  [[nodiscard]] std::size_t put(std::span<const std::byte> bytes);
  void send_block();
  void all_sent();

  // -- responses that come piece by piece
  class streaming;
  struct stream_deleter {
    void operator()(streaming* s) const noexcept;
  };
  void begin_stream(std::shared_ptr<http::body_source> source, bool chunked);
  [[nodiscard]] bool fill_from_stream();
  void stream_has_news() noexcept;

  // -- deadlines
  void arm(runtime::steady_time when) noexcept;
  void set_deadline() noexcept;
  void expired();
  static void timer_expired(void* self) noexcept;

  runtime::transport_ptr transport_;
  std::unique_ptr<tls::session> session_;
  std::unique_ptr<http::request_parser> parser_;
  std::unique_ptr<std::string> held_;  // first bytes of a record, or plaintext without credit
  std::unique_ptr<backlog> backlog_;
  std::unique_ptr<streaming, stream_deleter> stream_;  // what is sent now; others wait behind it
  exchange_ref current_;                               // being parsed
  exchange* first_ = nullptr;  // in flight, in order; each held by one reference
  exchange* last_ = nullptr;
  runtime::block out_;
  runtime::timer timer_{&connection_core::timer_expired, this};
  runtime::steady_time deadline_;
  runtime::steady_time armed_for_;
  runtime::steady_time request_began_;
  runtime::steady_time send_progress_;  // when bytes of ours last moved
  runtime::peer_address peer_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t unsent_responses_ = 0;  // to count as completed once their bytes are gone
  std::uint32_t body_bytes_ = 0;        // of the request being received
  phase phase_ = phase::waiting;
  ending ending_ = ending::clean;  // what a close in progress will be called
  bool secure_ = false;
  bool sending_ = false;  // a block is with the transport
  bool receive_paused_ = false;
  bool peer_finished_ = false;       // close_notify or FIN arrived
  bool no_more_requests_ = false;    // what arrives from now on is not parsed
  bool close_after_ = false;         // after what is queued: close
  bool close_sent_ = false;          // the last bytes of our direction are in out_
  bool peer_expects_close_ = false;  // the client asked for it: no need to linger
  bool draining_ = false;
  bool dispatching_ = false;
  bool pumping_ = false;
  bool pending_counted_ = false;  // in environment::pending_handshakes
  bool in_body_ = false;
  bool asked_ = false;         // a request has begun on this connection
  bool continue_due_ = false;  // 100 (Continue), once earlier answers are out
};

}  // namespace bulkhead::actors
