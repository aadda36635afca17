// How processes find each other over TCP, or do not.
#include "executor/communication/tcp_rendezvous.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <stdexcept>

#include <sys/resource.h>
#include <unistd.h>

#include "executor/communication/tcp_reception.hpp"
#include "tests/executor/communication/tcp_ranks.hpp"

namespace foreshard::executor {
namespace {

TEST(TcpRendezvous, StrangersAreRefusedAndHoldNobodyUp) {
  const int port = free_port();
  const auto say = [port](std::span<const std::byte> bytes) {
    const Deadline deadline(10 * kSecond);
    tl::expected<Socket, int> socket = tl::unexpected(0);
    while (!socket && !deadline.has_passed()) socket = connect_to(loopback(port), deadline);
    send_all(*socket, bytes, deadline);
    return std::move(*socket);
  };
  const auto refused = [&](const RunIdentity& run, int rank) {
    const auto joined = connect_by_tcp(rendezvous(rank, port, run));
    return joined ? "was let in" : joined.error().message;
  };
  std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: somebody\r\n\r\n";
  std::thread strangers([&] {
    const Socket silent = say({}), brief = say(std::as_bytes(std::span("FORESHRD")));
    say(std::as_bytes(std::span(request)));
    EXPECT_NE(refused({3, 11, 99}, 1).find("rank 1 runs another build"), std::string::npos);
    EXPECT_NE(refused({3, 99, 22}, 2).find("rank 2 trains another job"), std::string::npos);
    EXPECT_NE(refused({4, 11, 22}, 1).find("belongs to a run of 4 ranks"), std::string::npos);
    run_ranks(2, [&](int i) { EXPECT_TRUE(connect_by_tcp(rendezvous(1 + i, port))); });
  });
  EXPECT_TRUE(connect_by_tcp(rendezvous(0, port)));
  strangers.join();
}

TEST(TcpRendezvous, SomebodyElseAtTheMeetingPoint) {
  const Socket listening = listen_at(loopback(0), 5).value();
  const int port = Endpoint::of_ourselves(listening).port();
  const auto taken = connect_by_tcp(rendezvous(0, port));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().field, "MASTER_PORT");
  EXPECT_NE(taken.error().message.find("is in use"), std::string::npos);
  std::thread server([&] {
    const Deadline deadline(10 * kSecond);
    tl::expected<Socket, int> guest = accept_at(listening);
    while (!guest && !deadline.has_passed()) guest = accept_at(listening);
    std::array<std::byte, kTcpHello> hello;
    receive_all(*guest, hello, deadline);
    send_all(*guest, std::as_bytes(std::span("HTTP/1.1 400 Bad Request\r\n\r\n")), deadline);
  });
  const auto joined = connect_by_tcp(rendezvous(1, port));
  server.join();
  ASSERT_FALSE(joined);
  EXPECT_NE(joined.error().message.find("is not rank 0 of a foreshard run"), std::string::npos);
}

TEST(TcpRendezvous, HostsThatAreNotHere) {
  for (const char* host : {"192.0.2.1", "no such host"}) {
    Rendezvous place = rendezvous(0, free_port());
    place.point.host = host;
    const auto transport = connect_by_tcp(place);
    ASSERT_FALSE(transport) << host;
    EXPECT_EQ(transport.error().field, "MASTER_ADDR");
  }
}

TEST(TcpRendezvous, WhoDoesNotComeIsNamed) {
  const int port = free_port();
  const auto errors = errors_of_ranks(5, [port](int rank) {
    if (rank == 1 || rank == 3) return;
    Rendezvous place = rendezvous(rank, port, {5, 11, 22});
    place.point.timeout = Nanoseconds(rank == 0 ? 500'000'000 : 20'000'000'000);
    connect_by_tcp(place).value();
  });
  EXPECT_EQ(errors[0].find("ranks 1 and 3 have not connected to 127.0.0.1:"), 0u) << errors[0];
  EXPECT_EQ(errors[2].find("rank 0 disconnected before all ranks had connected"), 0u) << errors[2];
  Rendezvous alone = rendezvous(1, free_port());
  alone.point.timeout = Nanoseconds{200'000'000};
  EXPECT_THROW(
      {
        try {
          connect_by_tcp(alone).value();
        } catch (const std::runtime_error& error) {
          EXPECT_EQ(std::string(error.what()).find("rank 0 has not connected to 127.0.0.1:"), 0u);
          throw;
        }
      },
      std::runtime_error);
}

TEST(TcpRendezvous, WhoComesTwiceIsRefused) {
  const int port = free_port();
  std::atomic<int> refusals{0}, members{0};
  run_ranks(4, [&](int i) {
    while (i == 1 && refusals == 0) std::this_thread::yield();  // until then nobody is complete
    const auto transport = connect_by_tcp(rendezvous(std::min(i, 2), port));
    if (transport) {
      ++members;
    } else {
      ++refusals;
      EXPECT_NE(transport.error().message.find("rank 2 connected twice"), std::string::npos);
    }
  });
  EXPECT_EQ(members, 3);
  EXPECT_EQ(refusals, 1);
}

class FileLimit {
 public:
  FileLimit() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  void set(rlim_t files) const {
    const rlimit limit{files, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  rlim_t most() const { return before_.rlim_max; }

 private:
  rlimit before_{};
};

TEST(TcpRendezvous, AsManyFilesAsAProcessMayHave) {
  const FileLimit files;
  files.set(100);
  run_connected(2, "127.0.0.1", [](Transport&) {});
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, files.most());
}

TEST(TcpRendezvous, TooFewFilesAreToldAtOnce) {
  Socket listening = listen_at(loopback(0), 5).value();
  const Socket guest =
      connect_to(Endpoint::of_ourselves(listening), Deadline(10 * kSecond)).value();
  const auto next = static_cast<rlim_t>(dup(guest.descriptor()));
  close(static_cast<int>(next));
  std::vector<Socket> doors, members(2);
  doors.push_back(std::move(listening));
  TcpReception reception({kRun, TcpHello::Purpose::meet, 0, 0}, std::move(doors), members);
  std::exception_ptr thrown;
  {
    const FileLimit files;
    files.set(next);
    try {
      reception.wait(Deadline(kSecond));
    } catch (...) {
      thrown = std::current_exception();  // looked at once sanitizers may open files again
    }
  }
  ASSERT_TRUE(thrown);
  std::string what;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::runtime_error& error) {
    what = error.what();
  }
  EXPECT_NE(what.find("this process can open " + std::to_string(next) + " files (ulimit -n)"),
            std::string::npos)
      << what;
}

}  // namespace
}  // namespace foreshard::executor
