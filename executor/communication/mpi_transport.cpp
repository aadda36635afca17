// Messages through MPI: all there is in libforeshard_mpi.so. It calls nothing of the program that
// loads it. Failures of MPI itself end the run (MPI's default error handler).
#define OMPI_SKIP_MPICXX 1
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include <mpi.h>

#include "executor/communication/transport.hpp"

namespace foreshard::executor {
namespace {

class MpiTransport final : public Transport {
 public:
  MpiTransport() : exceptions_(std::uncaught_exceptions()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  // MPI_Finalize waits for the others, who may wait for this process.
  ~MpiTransport() override {
    if (std::uncaught_exceptions() > exceptions_) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Ticket send(std::span<const std::byte> data, int to, int channel) override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data.data(), count(data.size()), MPI_BYTE, to, channel, MPI_COMM_WORLD, &request);
    return ticket(request, false);
  }

  Ticket receive(std::span<std::byte> data, int from, int channel) override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(data.data(), count(data.size()), MPI_BYTE, from, channel, MPI_COMM_WORLD, &request);
    return ticket(request, true);
  }

  std::size_t test(std::span<Ticket> tickets) override {
    std::size_t left = 0;
    for (Ticket& ticket : tickets) {
      if (ticket.is_done) continue;
      MPI_Request request = request_of(ticket);
      int flag = 0;
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      ticket.is_done = flag != 0;
      left += ticket.is_done ? 0 : 1;
    }
    return left;
  }

  void cancel(Ticket& ticket) override {
    if (ticket.is_done || !ticket.is_receive) return;
    MPI_Request request = request_of(ticket);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ticket.is_done = true;
  }

  [[noreturn]] void abort(int exit_status) override {
    MPI_Abort(MPI_COMM_WORLD, exit_status);
    std::_Exit(exit_status);
  }

 private:
  static_assert(sizeof(MPI_Request) <= sizeof(Ticket::handle));

  // MPI counts in ints.
  static int count(std::size_t bytes) {
    if (bytes > kLongestMessage)
      throw std::length_error("a message is longer than kLongestMessage");
    return static_cast<int>(bytes);
  }

  static Ticket ticket(MPI_Request request, bool is_receive) {
    Ticket made;
    std::memcpy(&made.handle, &request, sizeof request);
    made.is_done = false;
    made.is_receive = is_receive;
    return made;
  }
  static MPI_Request request_of(const Ticket& ticket) {
    MPI_Request request = MPI_REQUEST_NULL;
    std::memcpy(&request, &ticket.handle, sizeof request);
    return request;
  }

  const int exceptions_;  // on their way when this was made
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace
}  // namespace foreshard::executor

// nullptr: this MPI has no support for threads.
extern "C" foreshard::executor::Transport* foreshard_make_mpi_transport() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) return nullptr;
  return new foreshard::executor::MpiTransport;
}
