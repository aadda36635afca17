// What processes say when they meet, and what is refused.
#include "executor/communication/tcp_handshake.hpp"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

const RunIdentity kIdentity{3, 0x1234, 0x5678};

TEST(TcpHandshake, HellosComeBack) {
  const TcpHello hello{kTcpVersion, TcpHello::Purpose::join, 2,
                       kIdentity,   0x9abcdef012345678,      40000};
  const auto back = decode_hello(encode(hello));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->purpose, hello.purpose);
  EXPECT_EQ(back->rank, 2);
  EXPECT_EQ(back->token, hello.token);
  EXPECT_EQ(back->port, 40000);
  EXPECT_EQ(why_refused(*back, kIdentity), "");
}

TEST(TcpHandshake, StrangersAreNoHello) {
  std::array<std::byte, kTcpHello> bytes{};
  EXPECT_FALSE(decode_hello(bytes));
  const char* request = "GET / HTTP/1.1\r\nHost: localhost:29500\r\nAccept: */*\r\n\r\n  ";
  std::memcpy(bytes.data(), request, bytes.size());
  EXPECT_FALSE(decode_hello(bytes));
}

TEST(TcpHandshake, RefusalsSayWhy) {
  const auto refused = [](TcpHello hello) { return why_refused(hello, kIdentity); };
  const TcpHello good{kTcpVersion, TcpHello::Purpose::meet, 1, kIdentity, 0, 1};
  EXPECT_EQ(refused(good), "");
  TcpHello bad = good;
  bad.version = kTcpVersion + 1;
  EXPECT_EQ(refused(bad), "rank 1 runs another build of foreshard");
  bad = good;
  bad.run.build = 1;
  EXPECT_EQ(refused(bad), "rank 1 runs another build of foreshard");
  bad = good;
  bad.run.ranks = 4;
  EXPECT_EQ(refused(bad), "rank 1 belongs to a run of 4 ranks, this one has 3");
  bad = good;
  bad.run.job = 1;
  EXPECT_NE(refused(bad).find("rank 1 trains another job"), std::string::npos);
  for (const int rank : {0, 3, 1 << 30}) {
    bad = good;
    bad.rank = rank;
    EXPECT_EQ(refused(bad), "rank " + std::to_string(rank) + " is not a rank of this run");
  }
}

TEST(TcpHandshake, AnswersComeBack) {
  TcpAnswer answer;
  answer.token = 77;
  answer.ranks = {{TcpAddress::Family::as_rank_0, 0, {}},
                  {TcpAddress::Family::ipv4, 1, {10, 0, 0, 1}},
                  {TcpAddress::Family::ipv6, 65535, {0xfe, 0x80, 1, 2, 3}}};
  const auto bytes = encode(answer);
  const auto back = decode_answer(bytes, 3);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->token, 77u);
  EXPECT_EQ(back->ranks, answer.ranks);
  EXPECT_FALSE(decode_answer(bytes, 2));
  EXPECT_FALSE(decode_answer(bytes, 4));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode_answer(std::span(bytes).first(n), 3)) << n;
  }
}

TEST(TcpHandshake, RefusalsComeBackAsPlainText) {
  const auto back = decode_answer(encode(TcpAnswer{"go \x1b[2J away\n", 0, {}}), 3);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->refusal, "go ?[2J away?");
  EXPECT_EQ(decode_answer(encode(TcpAnswer{std::string(5000, 'x'), 0, {}}), 3)->refusal.size(),
            512u);
}

TEST(TcpHandshake, TheBuildIsOfThisProgram) {
  EXPECT_EQ(build_of_this_program(), build_of_this_program());
  EXPECT_NE(build_of_this_program(), 0u);  // Debian's compilers write build ids
}

}  // namespace
}  // namespace foreshard::executor
